// `deepgap merge`: several Stores into one, each result once.
#include "base/console.h"
#include "base/dump_json.h"
#include "cli/command.h"
#include "cli/confined.h"
#include "cli/selection_flags.h"
#include "cli/stores.h"
#include "run/interrupts.h"
#include "run/progress.h"
#include "store/merge_stores.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace deepgap {
namespace {

class MergeCommand final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("out", in_, "Store to write, unless --store names it, then the stores to read")->type_name("OUT IN")->required();
    app.add_option("-o,--store", out_, "Write to this store; all arguments are then stores to read")->type_name("OUT");
    app.add_flag("--replace", replace_, "Replace OUT if it exists; it may also be one of the inputs");
    app.add_flag("--all-runs", all_runs_,
                 "Keep every record [default: the best of those with the same study, point, repeat, device and host]");
    app.add_flag("--json", json_, "Print the counts as JSON");
    which_.declare(app);
  }
  int run() override {
    Interrupts interrupts;
    if (out_.empty()) {
      out_ = in_.front();
      in_.erase(in_.begin());
    }
    if (in_.empty())
      throw Error(ErrorKind::usage,
                  fmt::format("no stores to read: name them after the one to write, as in deepgap merge {} a.db b.db", out_));
    selection_ = which_.selection();
    return work_confined(limits_of_stores(in_, out_), [&] { return merge(interrupts); });
  }

 private:
  int merge(const Interrupts& interrupts) const {
    std::vector<MergeInput> inputs;
    for (const std::string& path : in_) inputs.push_back({path});
    MergeSettings settings;
    settings.once = all_runs_ ? Once::record : Once::machine;
    settings.replace = replace_;
    if (!selection_.empty()) {
      look_at_selected(in_, selection_, false, [](const Store&, const Record&) {});  // refuses an empty one before a file is made
      settings.wanted = [&](const Record& record) { return selection_.holds(record); };
    }
    settings.interrupted = [&] { return interrupts.count() > 0; };
    const auto report = merge_stores(inputs, out_, settings);
    if (!report) return exit_interrupted;
    print(*report);
    return exit_ok;
  }

  void print(const MergeReport& report) const {
    if (json_) {
      const nlohmann::json json{{"store", out_},       {"stores", in_.size()},     {"read", report.read}, {"records", report.written},
                                {"same", report.same}, {"doubled", report.doubled}};
      fmt::print("{}", dump_indented(json));
      return;
    }
    print_text(fmt::format("{} records of {} in {}\n", report.written, in_.size() == 1 ? "one store" : fmt::format("{} stores", in_.size()),
                           out_));
    if (report.same > 0) fmt::print("{} were in several of them\n", report.same);
    if (report.doubled > 0)
      print_wrapped(fmt::format(
          "{} left out: other measurements of the same study, point and repeat on the same machine. The kept records name them (fact "
          "merge.left_out); --all-runs keeps all\n",
          report.doubled));
  }

  SelectionFlags which_;
  Selection selection_;
  std::string out_;
  std::vector<std::string> in_;
  bool replace_ = false, all_runs_ = false, json_ = false;
};

const bool registered = add_command<MergeCommand>({"merge",
                                                   {CommandGroup::data, 4},
                                                   "Join several stores into one, each result once",
                                                   "  deepgap merge all.db node-*.db\n"
                                                   "  deepgap merge --replace all.db all.db tuesday.db     add to it\n"
                                                   "  deepgap merge h100.db all.db --tag release           only tagged records\n",
                                                   {"--store", "--replace", "--all-runs", "--json"}});

}  // namespace
}  // namespace deepgap
