// Finding: something worth saying in words about a Store, with the Points that show it. One file each in findings/, by registrar: the
// report knows none by name. A Finding draws conclusions only from usable Points and says when an interval does not carry one.
#pragma once

#include "analysis/lines.h"
#include "analysis/results.h"

#include <string>
#include <vector>

namespace deepgap {

enum class Tone { result, note, warning, failure };
enum class Place { summary, failures };  // which section of a report

struct Statement {
  Tone tone = Tone::result;
  std::string headline;                     // "resnet50: native at batch 16 is fastest, 142.3 items/s"
  std::string detail;                       // "1.21 times (1.15 to 1.27) that of onnxruntime at its best, batch 8"
  std::vector<const PointSummary*> points;  // the evidence; of the Results it was drawn from
  double effect = 0;                        // by how much what it compares differs, as certain_effect() of comparison.h; 0: no rival
};

// The input of a Finding: the Store and how its Points are arranged.
struct Evidence {
  const Results& results;
  const std::vector<Workload>& workloads;
};

struct Finding {
  std::string id;
  int order = 0;  // place among the findings; gaps are left for others
  std::vector<Statement> (*find)(const Evidence& evidence) = nullptr;
  std::string describe;  // how it is drawn, one sentence
  Place place = Place::summary;
};
bool register_finding(Finding finding);  // in a static registrar
// Returns every known Finding, in order.
std::vector<Finding> known_findings();

struct FindingStatements {
  std::string id, describe;
  Place place = Place::summary;
  std::vector<Statement> statements;
};
// Returns the statements of every Finding, in order, the most important of each first: that with the largest effect; of equal effects the
// result that can be trusted most, by the verdict of the point that it is about; then that which rests on more records. Findings without
// statements are left out.
std::vector<FindingStatements> all_findings(const Evidence& evidence);

}  // namespace deepgap
