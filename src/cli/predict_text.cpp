#include "cli/predict_text.h"

#include "base/dump_json.h"
#include "base/quantity.h"
#include "base/text.h"
#include "run/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace deepgap {
namespace {

using nlohmann::json;

std::string fits_text(const Prediction& found) {
  if (!found.fits || *found.fits) return "";
  return found.largest_batch.value_or(0) >= 1 ? fmt::format("out of memory; {:.0f} would fit", *found.largest_batch) : "out of memory";
}

std::string parts_text(const Prediction& found) {
  if (!found.part_seconds) return "";
  const auto& [forward, backward, update] = *found.part_seconds;
  return fmt::format("{} + {} + {}", number_text(1e3 * forward), number_text(1e3 * backward), number_text(1e3 * update));
}

std::string kinds_text(const Prediction& found) {
  if (!found.memory_parts) return "";
  const MemoryParts& parts = *found.memory_parts;
  return fmt::format("{} + {} + {} + {}", format_bytes(parts.state.weights), format_bytes(parts.state.gradients),
                     format_bytes(parts.state.optimizer), format_bytes(parts.activations));
}

std::string table(const std::vector<PredictedRow>& rows, size_t width) {
  std::vector<TextColumn> columns{{"model", false, {}},     {"device", false, {}},
                                  {"precision", false, {}}, {"batch", true, {}},
                                  {"ms", true, {}},         {"low to high", true, {}},
                                  {"items/s", true, {}},    {"forward + backward + update", true, {}},
                                  {"memory", true, {}},     {"weights + gradients + state + activations", true, {}},
                                  {"W", true, {}},          {"measured ms", true, {}},
                                  {"", false, {}}};
  for (const PredictedRow& row : rows) {
    if (!row.reason.empty()) continue;
    const Prediction& found = row.prediction;
    const std::vector<std::string> cells{
        row.model,
        row.device,
        row.precision,
        fmt::format("{}", row.batch),
        number_text(1e3 * found.seconds),
        found.low ? fmt::format("{} to {}", number_text(1e3 * *found.low), number_text(1e3 * *found.high)) : "not known",
        fmt::format("{:.0f}", static_cast<double>(row.batch) / found.seconds),
        parts_text(found),
        found.memory_bytes ? format_bytes(*found.memory_bytes) : "",
        kinds_text(found),
        found.power_w ? fmt::format("{:.0f}", *found.power_w) : "",
        found.measured_seconds ? number_text(1e3 * *found.measured_seconds) : "",
        fits_text(found)};
    for (size_t i = 0; i < columns.size(); ++i) columns[i].cells.push_back(cells[i]);
  }
  // Columns that nothing is in say nothing.
  std::erase_if(columns, [](const TextColumn& column) {
    return std::all_of(column.cells.begin(), column.cells.end(), [](const std::string& cell) { return cell.empty(); });
  });
  return fitted_table(columns, width,
                      {{"weights + gradients + state + activations"},
                       {"measured ms"},
                       {"W"},
                       {"forward + backward + update"},
                       {"model", 16},
                       {"device", 16},
                       {"memory"},
                       {"low to high"}});
}

std::string left_out_text(LeftOut left_out, const std::string& devices) {
  if (left_out == LeftOut::model) return fmt::format("networks that the fit had not seen, on {} that it had,", devices);
  return left_out == LeftOut::device ? fmt::format("{} that the fit had not seen", devices)
                                     : fmt::format("networks and {} that the fit had not seen", devices);
}

std::string band_text(const Band& band, const std::string& backend, MeasuredKind kind) {
  const std::string devices = kind == MeasuredKind::cpu ? "CPUs" : "GPUs";
  const std::string alone = band.only_device ? fmt::format("; {} was measured on one of these {} alone", backend, devices) : std::string();
  if (band.ratio <= 0) return fmt::format("the error of such a prediction is not known{}", alone);
  const std::string left_out = band.only_device && band.left_out == LeftOut::model ? "networks that the fit had not seen, on another GPU,"
                                                                                   : left_out_text(band.left_out, devices);
  std::string text =
      fmt::format("{:.0f} % of {} predictions for {} were within {:.2f}x{}", 100 * band.share, band.points, left_out, band.ratio, alone);
  if (band.other_architecture) text += fmt::format("; a first guess: {} has not been tried on its architecture", backend);
  return text;
}

}  // namespace

std::string predictions_text(const std::vector<PredictedRow>& rows, const Predictor& predictor, const std::string& backend,
                             MeasuredKind kind, size_t width) {
  std::string text;
  std::set<std::string> reasons, devices;
  std::map<std::string, std::set<std::string>> bands;  // what is known of the error, and the devices that it is of
  for (const PredictedRow& row : rows) {
    if (!row.reason.empty())
      reasons.insert(row.reason);
    else
      bands[band_text(row.band, backend, kind)].insert(row.device);
  }
  for (const std::string& reason : reasons) text += reason + "\n";
  for (const MeasuredPoint& point : predictor.measured()) devices.insert(point.device);
  text += fmt::format("predicted, not measured: fitted to {} points of {}{} on {}\n", predictor.measured().size(), backend,
                      kind == MeasuredKind::training ? " training" : "", join({devices.begin(), devices.end()}, ", "));
  for (const auto& [band, named] : bands) text += fmt::format("{}: {}\n", join({named.begin(), named.end()}, ", "), band);
  return table(rows, width) + wrapped_lines(text, width);
}

namespace {

void add_training(const Prediction& found, json& cells) {
  if (found.part_seconds) {
    const auto& [forward, backward, update] = *found.part_seconds;
    cells.update({{"forward_ms", 1e3 * forward}, {"backward_ms", 1e3 * backward}, {"update_ms", 1e3 * update}});
  }
  if (!found.memory_parts) return;
  const MemoryParts& parts = *found.memory_parts;
  cells["memory_by_kind"] = {{"weights", parts.state.weights},
                             {"gradients", parts.state.gradients},
                             {"optimizer_state", parts.state.optimizer},
                             {"activations", parts.activations},
                             {"other", parts.other}};
}

}  // namespace

std::string predictions_json(const std::vector<PredictedRow>& rows) {
  json list = json::array();
  for (const PredictedRow& row : rows) {
    json cells{{"model", row.model}, {"device", row.device}, {"precision", row.precision}, {"batch", row.batch}};
    const Prediction& found = row.prediction;
    const auto known = [](const auto& value) { return value ? json(*value) : json(nullptr); };
    const auto ms = [](const std::optional<double>& seconds) { return seconds ? json(1e3 * *seconds) : json(nullptr); };
    if (row.reason.empty()) {
      cells.update({{"time_ms", 1e3 * found.seconds},
                    {"low", ms(found.low)},
                    {"high", ms(found.high)},
                    {"band_share", row.band.ratio > 0 ? json(row.band.share) : json(nullptr)},
                    {"throughput", static_cast<double>(row.batch) / found.seconds},
                    {"memory_bytes", known(found.memory_bytes)},
                    {"largest_batch", known(found.largest_batch)},
                    {"fits", known(found.fits)},
                    {"power_w", known(found.power_w)},
                    {"energy_j_per_item", known(found.energy_j_per_item)},
                    {"measured_ms", ms(found.measured_seconds)}});
      add_training(found, cells);
    } else {
      cells["reason"] = row.reason;
    }
    list.push_back(std::move(cells));
  }
  return dump_indented(list);
}

}  // namespace deepgap
