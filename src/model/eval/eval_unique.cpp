// Operators that choose or count by content: Unique, Compress, TfIdfVectorizer of whole numbers.
#include "model/eval/element_types.h"
#include "model/eval/rearrange.h"
#include "model/eval/widened.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace deepgap {
namespace {

Tensor longs_of(const std::vector<int64_t>& values) {
  Tensor tensor = make_tensor(DataType::i64, {static_cast<int64_t>(values.size())});
  std::ranges::copy(values, writable<int64_t>(tensor).begin());
  return tensor;
}

// Slices of x along an axis, in the order of their contents. A NaN comes after every number, and is like another.
template <typename T>
struct Slices {
  std::span<const T> x;
  int64_t outer, count, inner;

  int compare(int64_t a, int64_t b) const {
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < inner; ++i) {
        const T left = x[static_cast<size_t>((o * count + a) * inner + i)], right = x[static_cast<size_t>((o * count + b) * inner + i)];
        if (left < right || (not_a_number(right) && !not_a_number(left))) return -1;
        if (right < left || (not_a_number(left) && !not_a_number(right))) return 1;
      }
    return 0;
  }
};

// Holds the first slice of each group of equal slices, in the requested order, and the group of each slice.
struct Groups {
  std::vector<int64_t> first, group_of, sizes;
};

template <typename T>
Groups groups_of(const Slices<T>& slices, bool sorted) {
  std::vector<int64_t> order(static_cast<size_t>(slices.count));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int64_t a, int64_t b) { return slices.compare(a, b) < 0; });
  Groups groups;
  groups.group_of.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || slices.compare(order[i - 1], order[i]) != 0) {
      groups.first.push_back(order[i]);
      groups.sizes.push_back(0);
    }
    ++groups.sizes.back();
    groups.group_of[static_cast<size_t>(order[i])] = static_cast<int64_t>(groups.first.size()) - 1;
  }
  if (sorted) return groups;
  std::vector<int64_t> by_place(groups.first.size());
  std::iota(by_place.begin(), by_place.end(), 0);
  std::ranges::sort(by_place, {}, [&](int64_t group) { return groups.first[static_cast<size_t>(group)]; });
  Groups placed{{}, groups.group_of, {}};
  std::vector<int64_t> renamed(by_place.size());
  for (const int64_t group : by_place) {
    renamed[static_cast<size_t>(group)] = static_cast<int64_t>(placed.first.size());
    placed.first.push_back(groups.first[static_cast<size_t>(group)]);
    placed.sizes.push_back(groups.sizes[static_cast<size_t>(group)]);
  }
  for (int64_t& group : placed.group_of) group = renamed[static_cast<size_t>(group)];
  return placed;
}

// The first input and the axis it is looked at along: where none is given, all elements in a row.
std::pair<Tensor, size_t> along_axis(const Call& call) {
  Tensor x = call.input(0);
  if (!call.node.attributes.contains("axis")) return {copy_with_shape(x, {product_of(x.shape)}), 0};
  const auto axis = static_cast<size_t>(call.axis(call.int_of("axis", 0), x.shape.size()));
  return {std::move(x), axis};
}

std::vector<Tensor> unique(const Call& call) {
  const auto along = along_axis(call);
  const Tensor& x = along.first;
  const size_t axis = along.second;
  const bool sorted = call.int_of("sorted", 1) != 0;
  const std::span<const int64_t> sizes(x.shape);
  const int64_t outer = product_of(sizes.first(axis)), count = x.shape[axis], inner = product_of(sizes.subspan(axis + 1));
  const auto groups = [&]<typename T>(T) { return groups_of(Slices<T>{x.as<T>(), outer, count, inner}, sorted); };
  const Groups found = x.type == DataType::boolean ? groups(uint8_t{}) : with_number(call, x.type, groups);
  return {take(x, axis, found.first), longs_of(found.first), longs_of(found.group_of), longs_of(found.sizes)};
}

// The slices whose condition is true; what lies behind the conditions is left out.
std::vector<Tensor> compress(const Call& call) {
  const auto [x, axis] = along_axis(call);
  const Tensor& condition = call.input(1);
  call.expect(condition, DataType::boolean);
  if (condition.shape.size() != 1 || condition.shape[0] > x.shape[axis])
    call.fail(fmt::format("{} conditions for an axis of {}", product_of(condition.shape), x.shape[axis]));
  std::vector<int64_t> chosen;
  for (int64_t i = 0; i < condition.shape[0]; ++i)
    if (condition.as<uint8_t>()[static_cast<size_t>(i)] != 0) chosen.push_back(i);
  return {take(x, axis, chosen)};
}

// The pool: n-grams of each length one after the other, and each one's column.
struct Pool {
  std::map<std::vector<int64_t>, int64_t> columns;
  int64_t width = 0;
};

Pool pool_of(const Call& call) {
  if (call.node.attributes.contains("pool_strings")) call.refuse("strings are not handled here");
  const auto items = call.ints_of("pool_int64s", {}), begins = call.ints_of("ngram_counts", {}),
             columns = call.ints_of("ngram_indexes", {});
  Pool pool;
  for (const int64_t column : columns) {
    if (column < 0 || column >= (int64_t{1} << 31)) call.fail(fmt::format("ngram_indexes holds {}", column));
    pool.width = std::max(pool.width, column + 1);
  }
  size_t gram = 0;
  for (size_t n = 1; n <= begins.size(); ++n) {
    const int64_t begin = begins[n - 1], end = n < begins.size() ? begins[n] : static_cast<int64_t>(items.size());
    if (begin < 0 || end < begin || end > static_cast<int64_t>(items.size()) || (end - begin) % static_cast<int64_t>(n) != 0)
      call.fail("ngram_counts does not fit the pool");
    for (int64_t at = begin; at < end; at += static_cast<int64_t>(n)) {
      if (gram >= columns.size()) call.fail("ngram_indexes has fewer entries than the pool");
      pool.columns.emplace(std::vector<int64_t>(items.begin() + at, items.begin() + at + static_cast<int64_t>(n)), columns[gram++]);
    }
  }
  return pool;
}

std::vector<Tensor> tf_idf_vectorizer(const Call& call) {
  const Tensor& x = call.input(0);
  if (x.shape.empty() || x.shape.size() > 2) call.fail(fmt::format("its input has rank {}, not 1 or 2", x.shape.size()));
  const Pool pool = pool_of(call);
  const auto items = call.integers(0);
  const int64_t rows = x.shape.size() == 2 ? x.shape[0] : 1, length = x.shape.back();
  Shape shape{pool.width};
  if (x.shape.size() == 2) shape.insert(shape.begin(), rows);
  const int64_t shortest = call.int_of("min_gram_length", 1), longest_gram = call.int_of("max_gram_length", 1),
                skips = call.int_of("max_skip_count", 0);
  const std::string mode = call.text_of("mode", "TF");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") call.fail("its mode is not one of TF, IDF, TFIDF");
  std::vector<float> weights(static_cast<size_t>(pool.width), 1.0f);
  if (const auto found = call.node.attributes.find("weights"); found != call.node.attributes.end())
    if (const auto* given = std::get_if<std::vector<float>>(&found->second); given != nullptr && !given->empty()) weights = *given;
  if (weights.size() != static_cast<size_t>(pool.width)) call.fail("its weights are not one for each column");
  Tensor y = make_tensor(DataType::f32, shape);
  const auto counts = writable<float>(y);
  std::ranges::fill(counts, 0.0f);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t n = std::max<int64_t>(1, shortest); n <= longest_gram; ++n)
      for (int64_t step = 1; step <= (n == 1 ? 1 : skips + 1); ++step)  // single items have nothing to skip
        for (int64_t begin = 0; n - 1 <= (length - 1 - begin) / step && begin < length; ++begin) {
          std::vector<int64_t> gram;
          for (int64_t i = 0; i < n; ++i) gram.push_back(items[static_cast<size_t>(row * length + begin + i * step)]);
          if (const auto found = pool.columns.find(gram); found != pool.columns.end())
            counts[static_cast<size_t>(row * pool.width + found->second)] += 1;
        }
  for (size_t i = 0; i < counts.size() && mode != "TF"; ++i) {
    const float weight = weights[i % static_cast<size_t>(pool.width)];
    counts[i] = mode == "IDF" ? (counts[i] > 0 ? weight : 0) : counts[i] * weight;
  }
  return {y};
}

const bool registered[] = {
    add_operator("Compress", compress),
    add_operator("TfIdfVectorizer", tf_idf_vectorizer),
    add_operator("Unique", widened<unique>),
};

}  // namespace
}  // namespace deepgap
