// Scenario `trace`: queries at the times in a file (trace_file.h), as a real service saw them.
#include "scenario/open_loop.h"
#include "scenario/trace_file.h"

#include <deepgap/error.h>

namespace deepgap {
namespace {

class TraceScenario final : public ArrivalScenarioOf<TraceScenario> {
 public:
  std::string name() const override { return "trace"; }
  std::string describe() const override { return "queries come at the times in a file, to its end"; }
  Nanoseconds default_duration() const override { return never; }
  static OptionTable<TraceScenario> table() {
    OptionTable<TraceScenario> table;
    table.text("trace", "file with an arrival time in each line", &TraceScenario::file_);
    table.choice("trace_unit", "unit of these times: s or ns", &TraceScenario::unit_, {{"s", TraceUnit::s}, {"ns", TraceUnit::ns}});
    add_in_flight(table);
    return table;
  }

 protected:
  void check_options() const override {
    if (file_.empty()) throw Error(ErrorKind::usage, "scenario trace needs a file of arrival times: give --trace FILE");
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
