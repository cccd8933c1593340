// Scenario `trace`: queries at the times in a file (trace_file.h), as a real service saw them.
#include "scenario/open_loop.h"
#include "scenario/trace_file.h"

#include <deepgap/error.h>

namespace deepgap {
namespace {

class TraceScenario final : public ArrivalScenario {
 public:
  std::string name() const override { return "trace"; }
  std::string describe() const override { return "queries come at the times in a file, to its end"; }
  Nanoseconds default_duration() const override { return never; }

 protected:
  std::vector<ScenarioOption> arrival_options() const override {
    return {{"trace", "file with an arrival time in each line", ""}, {"trace_unit", "unit of these times: s or ns", "s"}};
  }
  void parse_arrivals(const ScenarioOptions& options) override {
    const auto file = options.find("trace");
    if (file == options.end()) throw Error(ErrorKind::usage, "scenario trace needs a file of arrival times: give --trace FILE");
    file_ = file->second;
    unit_ = choice_option(options, "trace_unit", {"s", "ns"}) == "ns" ? TraceUnit::ns : TraceUnit::s;
    check_trace(file_, unit_);
  }
  std::unique_ptr<Arrivals> make_arrivals() const override { return std::make_unique<TraceArrivals>(file_, unit_); }

 private:
  std::string file_;
  TraceUnit unit_ = TraceUnit::s;
};

const bool registered = add_scenario<TraceScenario>();

}  // namespace
}  // namespace deepgap
