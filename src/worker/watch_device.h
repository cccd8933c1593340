// Watches a GPU run one batch, apart from what is timed: kernels by CUPTI's records, and what its counters say.
#pragma once

#include "profile/layer_profile.h"

#include <deepgap/session.h>

#include <functional>

namespace deepgap {

// One batch, each returning when the device is done.
struct BatchOnDevice {
  std::function<void()> plain;  // as it is timed
  // Launches the layers one by one and announces each if the engine supports it; false: the engine does not.
  std::function<bool(const LayerMark& mark)> layers;
  std::function<void()> before = {};  // puts back what a step of training changes; not looked at; may be empty
};

// Sets the trace and, where `count`, the counters of `profile`, or why there are none. Layers' times become those of their kernels where
// nearly all kernels are led back to a layer. Throws what the work throws.
void watch_device(LayerProfile& profile, int device, bool count, const BatchOnDevice& batch);

// Takes a profile in a child process, with less of it after each time that the child ended without an answer: a library that watches an
// engine may end the process. `take` reads both flags. Throws what it throws with both off.
LayerProfile taken_with_less(bool& watch, bool& count, const std::function<LayerProfile()>& take);

}  // namespace deepgap
