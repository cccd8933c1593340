// What the played driver and the played CUPTI share: the GPU, and how DEEPGAP_PLAYED_GPU sets both.
#pragma once

#include "cuda/fake_driver.h"

#include <string>
#include <utility>
#include <vector>

// Lives as long as the process: threads may call it to the end.
deepgap::cuda::FakeDriver& played_gpu();
// name, value
std::vector<std::pair<std::string, std::string>> played_settings();
