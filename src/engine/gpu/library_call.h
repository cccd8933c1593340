// A call of a library of NVIDIA's in the place of a kernel of ours, as a Launch has it: the seam by which the tuner is offered what such a
// library does.
#pragma once

#include "cuda/driver.h"

#include <functional>
#include <memory>

namespace deepgap::gpu {

// Returns the address of the buffer of a role.
using AddressOf = std::function<cuda::Address(int role)>;

class LibraryCall {
 public:
  virtual ~LibraryCall() = default;
  // Queues the work on a stream, which may be one that is being recorded; from any thread, the context current. Throws Error{internal},
  // Error{out_of_memory}, Error{device_lost}, as a launch does.
  using Run = std::function<void(cuda::StreamHandle stream)>;
  // The function that it returns holds all that it needs except the context.
  virtual Run bind(const AddressOf& address) const = 0;
};

}  // namespace deepgap::gpu
