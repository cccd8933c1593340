// RunRules `fake_rules` for tests: they take a second, and one process.
#pragma once

#include "base/registry.h"
#include "worker/run_rules.h"

namespace deepgap {

class FakeRules final : public RunRules {
 public:
  OptionInfo summary() const override { return {"fake_rules_NAME", "options of the fake rules", ""}; }
  const std::vector<OptionInfo>& options() const override {
    static const std::vector<OptionInfo> options{{"fake_rules", "they apply", ""}};
    return options;
  }
  void check(const Point& /*point*/) const override {}
  Support spread_support(const Point& point, const DispatchOptions& /*options*/) const override {
    return point.placement.processes > 1 ? Support{false, "fake rules take one process"} : Support{};
  }
  size_t library_size(const Point& /*point*/) const override { return 8; }
  double seconds(const Point& /*point*/) const override { return 1; }
  std::string log_name(const Point& /*point*/) const override { return "fake"; }
  std::unique_ptr<WorkloadDriver> driver(std::unique_ptr<WorkloadDriver> warm_up, const DispatchOptions& /*dispatch*/) const override {
    return warm_up;
  }
};

inline const bool fake_rules_are_known = Registry<RunRules>::instance().add("fake_rules", [] { return std::make_unique<FakeRules>(); });

}  // namespace deepgap
