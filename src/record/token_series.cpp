#include "record/token_series.h"

#include <deepgap/error.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <string>
#include <utility>

namespace deepgap {
namespace {

double ms(Nanoseconds ns) { return static_cast<double>(ns) / 1e6; }

// The fields that a Series has of each query, by its name.
struct QueryField {
  const char* name;
  std::function<int64_t(const TokenStream&)> get;
  std::function<void(TokenStream&, int64_t)> set;
};

QueryField count_field(const char* name, int64_t TokenCounts::*field) {
  return {name, [field](const TokenStream& s) { return s.counts.*field; },
          [field](TokenStream& s, int64_t value) { s.counts.*field = value; }};
}

const std::array<QueryField, 8>& query_fields() {
  static const std::array<QueryField, 8> fields{
      {{"query", [](const TokenStream& s) { return static_cast<int64_t>(s.query); },
        [](TokenStream& s, int64_t value) { s.query = static_cast<uint64_t>(value); }},
       {"deliveries", [](const TokenStream& s) { return static_cast<int64_t>(s.deliveries.size()); },
        [](TokenStream& s, int64_t value) { s.deliveries.resize(static_cast<size_t>(value)); }},
       count_field("input", &TokenCounts::input),
       count_field("output", &TokenCounts::output),
       count_field("cached", &TokenCounts::cached),
       count_field("chunks", &TokenCounts::chunks),
       {"split", [](const TokenStream& s) { return int64_t{s.counts.split}; },
        [](TokenStream& s, int64_t value) { s.counts.split = value != 0; }},
       {"stop", [](const TokenStream& s) { return static_cast<int64_t>(s.counts.stop); },
        [](TokenStream& s, int64_t value) { s.counts.stop = static_cast<StopReason>(std::clamp<int64_t>(value, 0, 4)); }}}};
  return fields;
}

[[noreturn]] void damaged() { throw Error(ErrorKind::input, "damaged series of tokens: they contradict each other"); }

const Series* series_named(const Record& record, const std::string& name) {
  const auto found = std::find_if(record.series.begin(), record.series.end(),
                                  [&](const Series& series) { return series.probe == tokens_probe && series.name == name; });
  return found == record.series.end() ? nullptr : &*found;
}

void read_deliveries(const Record& record, std::vector<TokenStream>& streams) {
  const Series* tokens = series_named(record, "tokens");
  const Series* reasoning = series_named(record, "reasoning");
  size_t at = 0;
  for (TokenStream& stream : streams) {
    for (TokenDelivery& delivery : stream.deliveries) {
      if (tokens == nullptr || at >= tokens->times.size() || at >= tokens->values.size()) damaged();
      const bool before = reasoning != nullptr && at < reasoning->values.size() && reasoning->values[at] != 0;
      delivery = {tokens->times[at], static_cast<uint32_t>(tokens->values[at]), before};
      ++at;
    }
  }
}

// A Series for each field, checked against a forged number of deliveries before room is made for them.
std::vector<TokenStream> read_fields(const Record& record) {
  const Series* queries = series_named(record, "query");
  if (queries == nullptr) return {};
  std::vector<TokenStream> streams(queries->values.size());
  const Series* tokens = series_named(record, "tokens");
  double room = tokens == nullptr ? 0 : static_cast<double>(tokens->values.size());
  for (const QueryField& field : query_fields()) {
    const Series* series = series_named(record, field.name);
    if (series == nullptr) continue;
    if (series->values.size() != streams.size()) damaged();
    for (size_t i = 0; i < streams.size(); ++i) {
      if (std::string(field.name) == "deliveries" && (series->values[i] < 0 || (room -= series->values[i]) < 0)) damaged();
      field.set(streams[i], static_cast<int64_t>(series->values[i]));
      if (i < series->times.size()) streams[i].end = series->times[i];
    }
  }
  return streams;
}

}  // namespace

int64_t TokenStream::tokens() const {
  int64_t sum = 0;
  for (const TokenDelivery& delivery : deliveries) sum += delivery.count;
  return sum;
}

std::optional<double> TokenStream::ttft_ms() const {
  if (deliveries.empty()) return std::nullopt;
  return ms(deliveries.front().at - due);
}

std::optional<double> TokenStream::time_to_answer_ms() const {
  const auto found = std::find_if(deliveries.begin(), deliveries.end(), [](const TokenDelivery& one) { return !one.reasoning; });
  return found == deliveries.end() ? std::nullopt : std::optional(ms(found->at - due));
}

std::optional<double> TokenStream::tpot_ms() const {
  const int64_t count = tokens();
  if (deliveries.size() < 2 || count < 2) return std::nullopt;
  return ms(deliveries.back().at - deliveries.front().at) / static_cast<double>(count - 1);
}

std::vector<Series> token_series(std::span<const TokenStream> streams) {
  std::vector<Series> all;
  if (streams.empty()) return all;
  for (const QueryField& field : query_fields()) {
    Series series{tokens_probe, field.name, "1", false, {}, {}};
    for (const TokenStream& stream : streams) {
      series.times.push_back(stream.end);
      series.values.push_back(static_cast<double>(field.get(stream)));
    }
    all.push_back(std::move(series));
  }
  Series tokens{tokens_probe, "tokens", "1", false, {}, {}}, reasoning{tokens_probe, "reasoning", "1", false, {}, {}};
  bool any_reasoning = false;
  for (const TokenStream& stream : streams) {
    for (const TokenDelivery& delivery : stream.deliveries) {
      tokens.times.push_back(delivery.at);
      tokens.values.push_back(delivery.count);
      reasoning.values.push_back(delivery.reasoning ? 1 : 0);
      any_reasoning = any_reasoning || delivery.reasoning;
    }
  }
  reasoning.times = tokens.times;
  all.push_back(std::move(tokens));
  if (any_reasoning) all.push_back(std::move(reasoning));
  return all;
}

std::vector<TokenStream> token_streams(const Record& record) {
  std::vector<TokenStream> streams = read_fields(record);
  if (streams.empty()) return streams;
  read_deliveries(record, streams);
  // Both are in order of completion. Numbers alone do not distinguish queries: each time slice of a comparison counts from 0.
  auto timing = record.timings.begin();
  std::erase_if(streams, [&](TokenStream& stream) {
    const auto found =
        std::find_if(timing, record.timings.end(), [&](const Timing& one) { return one.query == stream.query && one.end == stream.end; });
    if (found == record.timings.end()) return true;
    stream.due = found->scheduled;
    timing = found + 1;
    return false;
  });
  return streams;
}

std::optional<double> bounded_ms(const TokenStream& stream, const std::string& metric) {
  if (metric == "ttft") return stream.ttft_ms().value_or(std::numeric_limits<double>::infinity());
  if (metric == "tpot") return stream.tpot_ms();
  if (metric != "itl") return ms(stream.end - stream.due);
  const std::vector<double> times = inter_token_ms(std::span(&stream, 1));
  return times.empty() ? std::nullopt : std::optional(*std::max_element(times.begin(), times.end()));
}

std::vector<double> inter_token_ms(std::span<const TokenStream> streams) {
  std::vector<double> times;
  for (const TokenStream& stream : streams) {
    for (size_t i = 1; i < stream.deliveries.size(); ++i) {
      const TokenDelivery& delivery = stream.deliveries[i];
      if (delivery.count == 0) continue;
      const double each = ms(delivery.at - stream.deliveries[i - 1].at) / delivery.count;
      times.insert(times.end(), delivery.count, each);
    }
  }
  return times;
}

}  // namespace deepgap
