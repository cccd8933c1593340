#include "operator_cases.h"

#include "rig.h"

#include <utility>

namespace deepgap::conformance {

uint64_t seed_of(const std::string& op, int round) {
  uint64_t mixed = seed() * 1'000'003 + static_cast<uint64_t>(round);
  for (const char c : op) mixed = mixed * 131 + static_cast<unsigned char>(c);
  return mixed;
}

std::vector<OperatorCase> operator_cases() {
  std::vector<OperatorCase> all = window_cases();
  for (auto& one : arithmetic_cases()) all.push_back(std::move(one));
  for (auto& one : rearranging_cases()) all.push_back(std::move(one));
  for (auto& one : choosing_cases()) all.push_back(std::move(one));
  return all;
}

}  // namespace deepgap::conformance
