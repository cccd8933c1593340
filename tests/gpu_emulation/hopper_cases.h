// Shared by the tests of kernels for Hopper: their text for the host, and numbers to compute with.
#pragma once

#include "hopper_words.h"

#include "engine/gpu/convolution.h"
#include "stats/random_stream.h"

#include <string>

namespace deepgap::gpu {

// Fails the test where the text is not there.
void replace_once(std::string& text, const std::string& what, const std::string& with);

// A namespace n_NUMBER with the kernel of one convolution, and what runs it on a HostMap and addresses: run_NUMBER.
std::string host_text(const Convolution& problem, const Launch& launch, const std::string& number);
using Run = const char* (*)(const unsigned* grid, void** arguments);

HostMap map_of(const Argument& argument, const std::byte* from);

// Eighths between -1 and 1, or any bytes: products and their sums are exact in every type.
void fill(std::byte* at, Element element, int64_t count, RandomStream& random);
Tensor weights_of(const Convolution& problem, RandomStream& random);
// Sums of bytes become numbers of some quanta.
std::vector<float> scale_bias_of(const Convolution& problem, RandomStream& random);
// Returns the allowed error of an element.
double allowed(Element element, double right);

}  // namespace deepgap::gpu
