// `deepgap export --format mlperf-endpoints`: a curve of token generation as a submission to MLPerf Endpoints.
#include "base/console.h"
#include "base/registry.h"
#include "cli/export_form.h"
#include "cli/stores.h"
#include "mlperf/endpoints/disclosure.h"
#include "mlperf/endpoints/tree.h"
#include "store/store.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <utility>

namespace deepgap {
namespace {

class EndpointsForm final : public ExportForm {
 public:
  std::string describe() const override { return "a submission of token generation"; }

  void declare(CLI::App& app) override {
    app.add_option("--disclosure", disclosure_,
                   "Add what no record knows, with --format mlperf-endpoints: a JSON file with the parts system, node, point and power")
        ->type_name("FILE");
  }

  void write(const std::vector<std::string>& stores, const Selection& selection, const std::string& output) const override {
    const nlohmann::ordered_json disclosure = read_endpoints_disclosure(disclosure_);
    EndpointsCurve curve;
    look_at_selected(stores, selection, false, [&](const Store& store, const Record& each) {
      if (!EndpointsCurve::wants(each)) return;
      Record record = each;
      record.timings = store.timings(record.record_id);
      record.series = store.series(record.record_id);
      curve.add(std::move(record));
    });
    if (curve.empty())
      throw Error(ErrorKind::input,
                  fmt::format("{} has no token generation at fixed concurrencies: measure with deepgap run --task generate "
                              "--scenario concurrency --clients 1,2,4,8,16,32,64",
                              store_names(stores)));
    for (const std::string& note : write_endpoints_tree(curve, disclosure, output)) say(stderr, fmt::format("deepgap: note: {}\n", note));
  }

 private:
  std::string disclosure_;
};

const bool registered = Registry<ExportForm>::instance().add("mlperf-endpoints", [] { return std::make_unique<EndpointsForm>(); });

}  // namespace
}  // namespace deepgap
