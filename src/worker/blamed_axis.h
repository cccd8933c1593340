// Finds the axis that causes a mistake in a Point. A message may come from a scenario, a dataset or a plug-in and need not say it; so it is
// found by trying: the axis without whose value no mistake is made, else the first without which it is another one. For a Point with
// hundreds of options only those are tried that the message names.
#pragma once

#include <deepgap/point.h>

#include <functional>
#include <string>

namespace deepgap {

// `inspect` throws for the Point, with the text `mistake`. Options are tried before fields, and a field before those it depends on (weights
// before the model). Empty: no single axis is to blame.
std::string blamed_axis(const Point& point, const std::string& mistake, const std::function<void(const Point&)>& inspect);

}  // namespace deepgap
