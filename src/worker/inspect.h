// Inspection: opens every model and Dataset of a Plan and asks every backend whether it can run each Point, before anything is timed. Runs
// in a child with limited memory and time, since files may be hostile.
#pragma once

#include "worker/protocol.h"

#include <deepgap/error.h>
#include <deepgap/point.h>
#include <deepgap/record.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace deepgap {

struct InspectedPoint {
  bool supported = true;
  std::string reason;
  std::string refused_by;    // the backend's name, "deepgap", or "tenant"; empty where it is supported
  std::string model_hash;    // hash of a model file's content, else empty
  std::string dataset_hash;  // hash of samples in files, else empty
  std::string process_key;   // Points that differ in it cannot share a process
  std::string backend_version;
  int64_t batch = 1;  // the Point's; where that was 0, the model's own
  int64_t parameters = 0, macs_per_item = 0, flop_per_item = 0, bytes_per_item = 0;
};
nlohmann::json inspected_to_json(const InspectedPoint& inspected);
InspectedPoint inspected_from_json(const nlohmann::json& json);

// A mistake in one of the Points, and the axis it is of (blamed_axis.h); empty where no single one is.
class PointError : public Error {
 public:
  PointError(const Error& error, size_t point, std::string axis)
      : Error(error.kind(), error.what()), point_(point), axis_(std::move(axis)) {}
  size_t point() const { return point_; }  // its place among those asked about
  const std::string& axis() const { return axis_; }

 private:
  size_t point_;
  std::string axis_;
};

// The next step of the inspection, so that a death can be explained.
struct InspectionStep {
  std::string subject;  // as a message names it
  std::string backend;  // whose code runs; empty: ours
};
using InspectionListener = std::function<void(const InspectionStep&)>;

// Backends that must not be opened, with why: they took an inspection down before.
using BrokenBackends = std::map<std::string, std::string>;

// A batch of 0 stands for 1, or what the model insists on. Throws PointError{usage | input} for what is wrong in what the user wrote: an
// unknown model, option or backend, a broken file.
std::vector<InspectedPoint> inspect_points(const std::vector<Point>& points, const std::string& cache_dir, const BrokenBackends& broken,
                                           const InspectionListener& about_to);

// The block of a request: a line of JSON each.
std::string lines_of_points(const std::vector<Point>& points);

// The child's side, for {"kind":"inspect","cache_dir","broken"} with one block, lines_of_points(): answers
// {"kind":"inspecting","subject","backend"} frames, {"kind":"points","points"} with some hundred each, then
// {"kind":"inspected","environment"}, or {"kind":"error","error","message"}, of a PointError with "point" and "axis".
void serve_inspection(const Frame& request, FrameWriter& writer);

}  // namespace deepgap
