#include "cli/peak_flags.h"

#include "base/messages.h"

namespace deepgap {

void PeakSearchFlags::declare(CLI::App& app, const std::string& group) {
  app.add_flag("--find-peak", asked_,
               "Find the largest load within --slo: the rate (server, constant, bursty), the queries a burst (burst), the batch "
               "(multi-stream) or the clients (concurrency). --budget limits the whole search")
      ->group(group);
  app.add_option("--peak-from", from_, "Start --find-peak at this load [default: a low one]")->group(group)->type_name("LOAD");
  app.add_option("--peak-ratio", ratio_, "Stop --find-peak when the load is known this closely [default: 2%]")
      ->group(group)
      ->type_name("PERCENT");
  app.add_option("--peak-interval", interval_,
                 "Continue --find-peak until the rate that just meets the SLO is known this closely, such as 3%")
      ->group(group)
      ->type_name("PERCENT");
}

PeakFlags PeakSearchFlags::flags(const std::optional<std::chrono::nanoseconds>& budget, bool resumes) const {
  PeakFlags flags;
  flags.resumes = resumes;
  flags.from = from_;
  if (budget) flags.budget = budget->count();
  if (ratio_) flags.ratio = checked_positive_fraction(*ratio_, "--peak-ratio", "2%");
  if (interval_) flags.interval = checked_positive_fraction(*interval_, "--peak-interval", "3%");
  return flags;
}

}  // namespace deepgap
