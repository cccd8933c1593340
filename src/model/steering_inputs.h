// Inputs whose numbers decide how much a network computes, or which part of it: k of TopK, the sizes of a Reshape, trip counts, conditions.
// Made-up numbers there would decide what is measured.
#pragma once

#include <deepgap/graph.h>

#include <map>
#include <string>
#include <vector>

namespace deepgap {

struct SteeringInput {
  std::string name;
  std::string decides;         // "how many values TopK (node 'best') picks"
  std::vector<double> values;  // that the graph gives it; one stands for all. Empty: only who asks can say
  std::string example;         // as --input takes it: "k=5"
  bool is_declared = false;    // `values` are sizes that the file declares for what is made of them: others contradict it
};

std::vector<SteeringInput> steering_inputs(const Graph& graph);

// Numbers of inputs, by their names; one number stands for all of an input.
using InputNumbers = std::map<std::string, std::vector<double>>;

// Returns the graph's numbers together with `given`, which takes precedence.
InputNumbers with_given(const std::vector<SteeringInput>& steering, const InputNumbers& given);
// Throws Error{usage} naming the first input that only who asks can say, and that is not among `given`, or whose given numbers contradict
// the file. Where samples come out of files nothing is asked for.
void require_steering(const std::vector<SteeringInput>& steering, const InputNumbers& given, const std::string& dataset,
                      const std::string& model);

}  // namespace deepgap
