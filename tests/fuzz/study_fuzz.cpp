// Study files, and the Plan that they ask for where it is small.
#include "fuzz.h"
#include "plan/study.h"

using namespace deepgap;

namespace {

bool is_small(const Study& study) {
  double jobs = 0;
  for (const Grid& grid : study.grids) {
    double points = 1;
    for (const Axis& axis : grid.axes) points *= static_cast<double>(axis.values.size());
    for (const TenantAxes& tenant : grid.tenants) {
      for (const Axis& axis : tenant) points *= static_cast<double>(axis.values.size());
    }
    jobs += points * static_cast<double>(grid.repeats) * static_cast<double>(grid.sweeps);
  }
  return jobs < 300;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fuzz::Share share("studies planned");
  bool planned = false;
  fuzz::accepts([&] {
    const Study study = parse_study(std::string(fuzz::text_of(data, size)), "fuzz");
    if (!is_small(study)) return;
    expand(study, 4);
    planned = true;
  });
  share.count(planned);
  return 0;
}
