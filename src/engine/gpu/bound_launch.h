// A Launch that is ready to go: its function found, its arguments filled in.
#pragma once

#include "cuda/objects.h"
#include "engine/gpu/launch.h"
#include "engine/gpu/library_call.h"

#include <vector>

namespace deepgap::gpu {

// Copies share what they hold; any thread with the context current.
class BoundLaunch {
 public:
  // `function`: of a module that outlives this; of a library's call nullptr. Throws Error{refused} where the driver has no tile
  // descriptions and they are needed.
  BoundLaunch(const Launch& launch, cuda::Function function, const AddressOf& address);
  void run(cuda::StreamHandle stream) const { launch(stream, overlaps_previous_); }
  // Begins when the launch before it has ended, so that a measured time is its own: a launch that begins earlier waits within its
  // time.
  void run_by_itself(cuda::StreamHandle stream) const { launch(stream, false); }
  // Other addresses for the same launch, not of a library's call.
  void move(const Launch& launch, const AddressOf& address);
  // Takes the place of this kernel with other arguments, which is recorded as `node`. Not of a library's call.
  void replace(cuda::CudaGraph& graph, cuda::GraphNode node) const { graph.give(node, config_, function_, parameters().data()); }

 private:
  void launch(cuda::StreamHandle stream, bool overlapping) const;
  std::vector<void*> parameters() const;

  struct alignas(64) Slot {
    cuda::TensorMap bytes;
  };
  std::vector<Slot> slots_;
  cuda::LaunchConfig config_{};
  bool overlaps_previous_ = false;
  unsigned cluster_ = 1;
  cuda::Function function_ = nullptr;
  LibraryCall::Run call_;  // a library's call
};

}  // namespace deepgap::gpu
