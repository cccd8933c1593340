#include "operator_cases.h"

#include "rig.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace deepgap::conformance {

uint64_t seed_of(const std::string& op, int round) {
  uint64_t mixed = seed() * 1'000'003 + static_cast<uint64_t>(round);
  for (const char c : op) mixed = mixed * 131 + static_cast<unsigned char>(c);
  return mixed;
}

std::string case_name(const testing::TestParamInfo<OperatorCase>& tested) {
  std::string name = tested.param.op;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

std::vector<OperatorCase> quantizable_cases() {
  std::vector<OperatorCase> all = window_cases();
  for (auto& one : arithmetic_cases()) all.push_back(std::move(one));
  for (auto& one : rearranging_cases()) all.push_back(std::move(one));
  for (auto& one : choosing_cases()) all.push_back(std::move(one));
  for (auto& one : ranked_cases()) all.push_back(std::move(one));
  for (auto& one : edge_cases()) all.push_back(std::move(one));
  return all;
}

std::vector<OperatorCase> every(size_t n, const std::vector<OperatorCase>& cases) {
  if (std::getenv("DEEPGAP_LONG_TESTS") != nullptr) return cases;
  std::vector<OperatorCase> chosen;
  for (size_t i = 0; i < cases.size(); i += n) chosen.push_back(cases[i]);
  return chosen;
}

std::vector<OperatorCase> asked_for(const std::vector<OperatorCase>& cases) {
  const char* step = std::getenv("DEEPGAP_CONFORMANCE_EVERY");
  return every(step == nullptr ? 1 : static_cast<size_t>(std::max(std::atoi(step), 1)), cases);
}

std::vector<OperatorCase> operator_cases() {
  std::vector<OperatorCase> all = quantizable_cases();
  for (auto& one : typed_cases()) all.push_back(std::move(one));
  for (auto& one : axis_cases()) all.push_back(std::move(one));
  for (auto& one : heavy_cases()) all.push_back(std::move(one));
  for (auto& one : moving_cases()) all.push_back(std::move(one));
  for (auto& one : resizing_cases()) all.push_back(std::move(one));
  return all;
}

}  // namespace deepgap::conformance
