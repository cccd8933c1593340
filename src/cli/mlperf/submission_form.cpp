// `deepgap export --format mlperf`: the folder tree of a submission.
#include "base/console.h"
#include "base/registry.h"
#include "cli/export_form.h"
#include "cli/stores.h"
#include "mlperf/submission/tree.h"

#include <deepgap/error.h>

#include <fmt/format.h>

namespace deepgap {
namespace {

class SubmissionForm final : public ExportForm {
 public:
  std::string describe() const override { return "a submission's tree"; }

  void declare(CLI::App& app) override {
    app.add_option("--submitter", submitter_, "Name the submitter, with --format mlperf")->type_name("NAME")->capture_default_str();
  }

  void write(const std::vector<std::string>& stores, const Selection& selection, const std::string& output) const override {
    const bool plain = !submitter_.empty() && submitter_.find('/') == std::string::npos && !submitter_.starts_with('.');
    if (!plain)
      throw Error(ErrorKind::usage, fmt::format("invalid value '{}' for --submitter: expected a name that a folder can have", submitter_));
    MlperfRuns runs;
    look_at_selected(stores, selection, false, [&](const Store&, const Record& record) { runs.add(record); });
    if (runs.empty())
      throw Error(ErrorKind::input, fmt::format("{} has no MLPerf run with logs: measure with deepgap run --mlperf ROUND --mlperf-log DIR",
                                                store_names(stores)));
    for (const std::string& note : write_mlperf_tree(runs, {output, submitter_})) say(stderr, fmt::format("deepgap: note: {}\n", note));
  }

 private:
  std::string submitter_ = "unnamed";
};

const bool registered = Registry<ExportForm>::instance().add("mlperf", [] { return std::make_unique<SubmissionForm>(); });

}  // namespace
}  // namespace deepgap
