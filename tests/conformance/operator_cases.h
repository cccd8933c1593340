// Graphs around one operator, with random shapes and attributes.
#pragma once

#include "graph_builder.h"

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace deepgap::conformance {

struct OperatorCase {
  std::string op;
  int opset = 17;
  std::function<Graph(GraphBuilder&)> build;  // random shapes and attributes
  bool required = true;                       // issued networks need it: no backend that computes may refuse it
  bool mixes_samples = false;                 // only whole batches of the sizes asked for at load are tried
};

// GoogleTest prints the parameter of a failed test.
inline void PrintTo(const OperatorCase& one, std::ostream* out) { *out << one.op; }

// The operator that it tries: the first word of "Conv 2D".
inline std::string operator_of(const OperatorCase& one) { return one.op.substr(0, one.op.find(' ')); }
// ... and names a test by it.
std::string case_name(const testing::TestParamInfo<OperatorCase>& tested);
// Returns the seed for this case's networks in a round, which differs from round to round, from the seed of everything random.
uint64_t seed_of(const std::string& op, int round);

// All of them; the files operator_cases_*.cpp hold a family each.
std::vector<OperatorCase> operator_cases();
// Every n-th; all with DEEPGAP_LONG_TESTS.
std::vector<OperatorCase> every(size_t n, const std::vector<OperatorCase>& cases);
// Every n-th where DEEPGAP_CONFORMANCE_EVERY=n asks for no more, as for an engine that takes its time; all with DEEPGAP_LONG_TESTS.
std::vector<OperatorCase> asked_for(const std::vector<OperatorCase>& cases);
// Returns the cases that INT8 could be for.
std::vector<OperatorCase> quantizable_cases();
std::vector<OperatorCase> window_cases();       // convolutions and pools
std::vector<OperatorCase> ranked_cases();       // the same in one to three dimensions, with rarer attributes
std::vector<OperatorCase> arithmetic_cases();   // elementwise, products, normalisation, reductions
std::vector<OperatorCase> rearranging_cases();  // shapes, joins, moves
std::vector<OperatorCase> choosing_cases();     // comparisons, choices, several inputs or outputs
std::vector<OperatorCase> typed_cases();        // pointwise operators in every element type
std::vector<OperatorCase> axis_cases();         // reductions, choices, sums and products along axes; changes of type
std::vector<OperatorCase> heavy_cases();        // normalisations, recurrent layers, products of any type, boxes
std::vector<OperatorCase> moving_cases();       // indices, scattering, padding, repeating, in every element type
std::vector<OperatorCase> edge_cases();         // the same where sizes are 1 or 0, or there are no dimensions
std::vector<OperatorCase> resizing_cases();     // Resize, Upsample, GridSample

// A case's network with constants in place of its inputs, once for every set of outputs that the operator may have: those it has
// always, and more and more of the others, also with one left out before the last. Something beside it varies: x [N,2] -> Relu.
std::vector<Graph> constant_variants(const OperatorCase& one);

}  // namespace deepgap::conformance
