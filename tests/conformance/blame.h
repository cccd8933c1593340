// Whose fault a wrong answer of another engine is. What native answers wrongly is deepgap's, always. For the others the case is kept as
// files and tried again without our adapter:
//   openvino, onnxruntime: by the engine's own interface on the same file (plain/*.cpp). Right there: our adapter is wrong.
//   libtorch, tensorflow, xla, which read no ONNX files: by the same calls in FP32 in the plainest way that they have, on the fewest
//   instructions that LibTorch's kernels know, without Grappler and oneDNN, without optimization by LLVM. Wrong there, too: our adapter is
//   wrong.
//   libtorch_cuda: the cause stays unknown.
// An engine's own fault is printed by name with its folder and fails nothing, unless --strict-engines asks for it. An unknown cause, and
// what is deepgap's, fails.
#pragma once

#include "tolerance.h"

#include <string>
#include <vector>

namespace deepgap::conformance {

void set_strict_engines(bool strict);

// Judges the case that ran last and was answered wrongly. Returns the engine's fault in words, to skip the test with, or "" after it added
// a failure.
std::string blame(const Difference& wrong, const std::vector<Tensor>& expected, const Judge& judge);

// Runs the small network once; as blame() where its answer is wrong. The Session tests ask for more than that and begin with it.
std::string fault_in_small_network();

// Judges the case that ended the process of `backend` in `test` in the same way, with no test to add to. Sets `own` if the fault is
// deepgap's or unknown.
std::string blame_crash(const std::string& backend, const std::string& test, const std::string& how, bool& own);

}  // namespace deepgap::conformance
