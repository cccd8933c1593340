// Axis names as parts of a Point.
#pragma once

#include "base/option_table.h"
#include "plan/study.h"

#include <set>
#include <string>
#include <vector>

namespace deepgap {

// Fields of a Point that an axis can have: task, model, weights, ...
const OptionTable<Point>& point_fields();
std::vector<std::string> point_field_names();
bool is_point_field(const std::string& name);
// "streams", "native.streams": what may name an option.
bool is_option_name(const std::string& name);

// Sets a field or, under any other name, an option. `cpus` replaces threads = 0. Throws Error{usage}: "batch: 'x' is no ...".
void set_on_point(Point& point, const std::string& name, const std::string& value, int cpus);
// Returns the value as it stands in the Point; nullopt for an option that it does not have.
std::optional<std::string> value_on_point(const Point& point, const std::string& name);

// Throws Error{usage} where the condition can hold for no Point: unknown axis (not a field, not among `options`), `<` with a text.
void check_condition(const Condition& condition, const std::set<std::string>& options);
bool holds(const Condition& condition, const Point& point, int cpus);

}  // namespace deepgap
