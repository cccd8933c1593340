// Predictions as a table and as JSON.
#pragma once

#include "analysis/predict/measured_rows.h"
#include "analysis/predict/predict.h"

#include <cstdint>
#include <string>
#include <vector>

namespace deepgap {

struct PredictedRow {
  std::string model, device, precision;
  int64_t batch = 1;
  Prediction prediction;  // where there is no reason
  Band band;
  std::string reason;  // why nothing is predicted
};

// A table, what could not be predicted, and what it was made of, in lines at most `width` wide (0: as wide as they are).
std::string predictions_text(const std::vector<PredictedRow>& rows, const Predictor& predictor, const std::string& backend,
                             MeasuredKind kind, size_t width);
std::string predictions_json(const std::vector<PredictedRow>& rows);

}  // namespace deepgap
