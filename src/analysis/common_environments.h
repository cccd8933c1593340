// The facts that all Records of a Point share about their machine. One thread.
#pragma once

#include <deepgap/record.h>

#include <memory>

namespace deepgap {

// One copy of each environment: all Records of a run have the same.
class CommonEnvironments {
 public:
  using Shared = std::shared_ptr<const Facts>;

  // Returns the facts that `so_far` (nullptr: all) and `facts` share.
  Shared common(const Shared& so_far, const Facts& facts);

 private:
  Shared newest_;
};

}  // namespace deepgap
