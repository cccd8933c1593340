// Selects the hardware counters for a chip. Names differ from chip to chip, so they are picked out of the list that CUPTI's host side gives
// for it, which needs no GPU. Pure except for supported_metrics().
#pragma once

#include "kernels/cupti_api.h"

#include <string>
#include <vector>

namespace deepgap {

// Returns the base names that the chip has. Throws Error{refused} for a chip that this CUPTI does not know.
std::vector<std::string> supported_metrics(const cupti::Api& api, const std::string& chip);
// Returns the chips that this CUPTI knows: "GH100", ...
std::vector<std::string> supported_chips(const cupti::Api& api);

// Those of them that are counted, in groups that are counted one after the other: DRAM and L2 bytes; bytes of L1; operations of threads;
// operations of tensor cores by type, each once (where "..._src_fp16" exists, its parts are left out); how busy the multiprocessors and
// their warps are.
struct MetricGroup {
  std::string what;
  std::vector<std::string> metrics;  // with their way of adding up: "dram__bytes_read.sum"
};
std::vector<MetricGroup> wanted_metrics(const std::vector<std::string>& available);

// Returns CUPTI's name of a card's chip: "h100" and "GH100" are GH100. Empty if it is not known.
std::string chip_of(const std::string& card, const std::vector<std::string>& chips);
// Returns the command "ncu --csv --metrics A,B,..." for the groups.
std::string ncu_command(const std::vector<MetricGroup>& groups);

}  // namespace deepgap
