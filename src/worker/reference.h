// Reference outputs: what a Model answers to R samples in FP32 on the plainest path. Made once, kept in the cache as safetensors, compared
// with every engine's outputs before anything is timed.
//
// The key is the content of model, weights and inputs, so a reference is never stale. Writing is atomic; a damaged file counts as none.
#pragma once

#include <deepgap/batching.h>
#include <deepgap/dataset.h>
#include <deepgap/model.h>
#include <deepgap/record.h>
#include <deepgap/session.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace deepgap {

struct Reference {
  std::string against;                       // "native fp32 reference" or the engine that made it
  std::vector<std::vector<Tensor>> outputs;  // [sample][output], batch dimension 1 where it is open; of a fixed batch one query's, whole
  std::string overflow;                      // as ReferenceRun says: what is computed in 16 bits there may be something else, and right
};

// Loads the samples where they are not yet.
std::string reference_key(const Model& model, Dataset& dataset, std::span<const uint32_t> samples);
// One that can be compared with what the backend `checked` answers: it made none for itself.
std::optional<Reference> find_reference(const std::string& cache_dir, const std::string& key, const std::string& checked);
// If there is no folder, it is kept nowhere.
void keep_reference(const std::string& cache_dir, const std::string& key, const Reference& reference);
// Returns how many queries it holds: one of each sample where the batch is open; else the one query that is compared with it.
size_t referenced_queries(const Batching& batching, size_t samples);
// Makes it as run_reference() does. Throws Error{refused} when nothing can, and where the outputs hold NaN, with which nothing can be
// compared. It is slow and needs much memory.
Reference make_reference(const Model& model, Dataset& dataset, std::span<const uint32_t> samples, const std::string& checked);

// Compares the outputs of one query of `batch` items, item i against sample i mod R; a batch that is not open is compared with the
// reference's one query as a whole. nullopt: no output has the batch as its first dimension, so samples cannot be compared.
std::optional<CheckResult> compare_batch(const Reference& reference, std::span<const TensorView> outputs, int64_t batch,
                                         const Batching& batching, Precision precision);

}  // namespace deepgap
