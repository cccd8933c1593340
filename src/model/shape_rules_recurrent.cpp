// LSTM, GRU and RNN; and NonMaxSuppression, whose result's size only the data knows.
#include "model/shape_rules.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

// Inputs X [sequence, batch, size], W [directions, gates * hidden, size], R [directions, gates * hidden, hidden]; with layout 1 the batch
// comes first in X and the results.
template <int gates>
void recurrent(ShapeContext& context) {
  const size_t results = context.node.op == "LSTM" ? 3 : 2;
  for (size_t i = 0; i < results; ++i) context.set(i, context.type(0), std::nullopt);
  const auto &x = context.dims(0), &w = context.dims(1), &r = context.dims(2);
  if (!x || !w || !r) return;
  if (x->size() != 3 || w->size() != 3 || r->size() != 3)
    context.fail(fmt::format("input {} and weights {} and {} should have three dimensions", to_string(*x), to_string(*w), to_string(*r)));
  const Dim &directions = (*w)[0], &hidden = (*r)[2];
  const bool batch_first = context.int_of("layout", 0) != 0;
  const Dim &sequence = (*x)[batch_first ? 1 : 0], &batch = (*x)[batch_first ? 0 : 1];
  const bool both = context.text_of("direction", "forward") == "bidirectional";
  if (directions.known() && directions.size != (both ? 2 : 1))
    context.fail(fmt::format("its weights are of {} directions", directions.size));
  if ((*w)[2].known() && (*x)[2].known() && (*w)[2] != (*x)[2])
    context.fail(fmt::format("input {} and weights {} do not go together", to_string(*x), to_string(*w)));
  const auto rows = multiply(hidden, fixed_dim(gates));
  for (const Dim& given : {(*w)[1], (*r)[1]})
    if (rows && rows->known() && given.known() && given != *rows)
      context.fail(fmt::format("weights {} and {} are not of {} gates", to_string(*w), to_string(*r), gates));
  if (const int64_t said = context.int_of("hidden_size", 0); said != 0 && hidden.known() && hidden.size != said)
    context.fail(fmt::format("hidden_size is {}, its weights have {}", said, hidden.size));
  context.set(0, context.type(0), batch_first ? Dims{batch, sequence, directions, hidden} : Dims{sequence, directions, batch, hidden});
  for (size_t i = 1; i < results; ++i)
    context.set(i, context.type(0), batch_first ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden});
}

void non_max_suppression(ShapeContext& context) {
  const auto &boxes = context.dims(0), &scores = context.dims(1);
  const auto fails = [&](const std::optional<Dims>& dims) { return dims && dims->size() != 3; };
  if (fails(boxes) || fails(scores)) context.fail("boxes and scores should have three dimensions");
  context.set(0, DataType::i64, Dims{context.unknown(0, 0), fixed_dim(3)});
}

const bool registered =
    add_shape_rules({{"GRU", recurrent<3>}, {"LSTM", recurrent<4>}, {"NonMaxSuppression", non_max_suppression}, {"RNN", recurrent<1>}});

}  // namespace
}  // namespace deepgap
