// Limits the instructions that oneDNN may use. oneDNN looks once, before its first primitive, and for the whole process.
#pragma once

#include <string>
#include <vector>

namespace deepgap {

// Returns the values of `isa=`: auto, and from least to most avx2, avx512, avx512_vnni, avx512_bf16, amx. Each includes those before it.
std::vector<std::string> isa_names();
// Returns those of this CPU, without auto. amx is not among them if its tiles are hidden.
std::vector<std::string> available_isas();
// Returns why the ISA cannot be used; empty if it can.
std::string isa_refusal(const std::string& name);
// Call it before the first primitive. auto leaves the choice to oneDNN (and its variable ONEDNN_MAX_CPU_ISA), except for AMX whose tiles
// are hidden (base/cpu.h): then AVX-512 is used. Throws Error{refused} for an unknown name, an ISA that the CPU lacks, and an ISA that
// differs from the one this process computes with.
void limit_isa(const std::string& name);
// Returns what is used, such as "AVX-512 AMX", or before the first limit_isa what would be used.
std::string isa_description();

// These describe the ISA in use, after limit_isa.
bool multiplies_integers_exactly();  // VNNI: products of 8 bits are summed in 32 bits, not in 16
bool computes_bf16();
bool uses_avx2();
bool uses_avx512();
bool uses_vnni();
bool uses_amx();  // for BF16

}  // namespace deepgap
