// Timings are stored by column, since neighbours within a column are alike: query and scheduled time as differences to the row before,
// begin as its distance from scheduled, end as its distance from begin. A steady run costs two to four bytes a query.
#include "record/timing_block.h"

#include "record/block_bytes.h"

#include <bit>
#include <cmath>
#include <limits>

namespace deepgap {
namespace {

constexpr std::string_view timings_tag = "DGT1";
constexpr std::string_view series_tag = "DGS1";
constexpr uint64_t most_timings = 20'000'000;  // twice what a run keeps
constexpr uint64_t bytes_a_timing = 4 * 10 + 10 + 1;
constexpr uint64_t most_series = 10'000;
constexpr uint64_t bytes_a_series = uint64_t{256} << 20;

uint64_t bits(int64_t value) { return static_cast<uint64_t>(value); }
Nanoseconds ns(uint64_t value) { return static_cast<Nanoseconds>(value); }

enum class ValueCoding : uint8_t { plain = 0, integers = 1 };

// Counters and byte counts are whole numbers, whose differences are small; anything else keeps its bits.
bool all_whole(std::span<const double> values) {
  constexpr double limit = 9007199254740992.0;  // 2^53: every whole number up to here is exact
  for (const double value : values) {
    if (!(std::abs(value) <= limit) ||
        std::bit_cast<uint64_t>(static_cast<double>(static_cast<int64_t>(value))) != std::bit_cast<uint64_t>(value)) {
      return false;
    }
  }
  return true;
}

void write_values(ByteWriter& writer, std::span<const double> values) {
  if (!all_whole(values)) {
    writer.byte(static_cast<uint8_t>(ValueCoding::plain));
    for (const double value : values) writer.fixed64(std::bit_cast<uint64_t>(value));
    return;
  }
  writer.byte(static_cast<uint8_t>(ValueCoding::integers));
  uint64_t previous = 0;
  for (const double value : values) {
    const uint64_t current = bits(static_cast<int64_t>(value));
    writer.varint(zigzag(current - previous));
    previous = current;
  }
}

std::vector<double> read_values(ByteReader& reader, uint64_t count) {
  const auto coding = static_cast<ValueCoding>(reader.byte());
  if (coding != ValueCoding::plain && coding != ValueCoding::integers) reader.fail("unknown coding of values");
  if (count > reader.left()) reader.fail("it has fewer values than it claims");
  std::vector<double> values(count);
  uint64_t current = 0;
  for (double& value : values) {
    if (coding == ValueCoding::plain) {
      value = std::bit_cast<double>(reader.fixed64());
    } else {
      current += unzigzag(reader.varint());
      value = static_cast<double>(ns(current));
    }
  }
  return values;
}

Series read_one_series(ByteReader& reader) {
  Series series;
  series.probe = reader.text();
  series.name = reader.text();
  series.unit = reader.text();
  const uint8_t counter = reader.byte();
  if (counter > 1) reader.fail("a flag is neither 0 nor 1");
  series.counter = counter == 1;
  const uint64_t times = reader.varint();
  if (times > reader.left()) reader.fail("it has fewer times than it claims");
  series.times.resize(times);
  uint64_t time = 0;
  for (Nanoseconds& entry : series.times) {
    time += unzigzag(reader.varint());
    entry = ns(time);
  }
  const uint64_t values = reader.varint();
  series.values = read_values(reader, values);
  return series;
}

}  // namespace

std::string encode_timings(std::span<const Timing> timings) {
  ByteWriter writer;
  uint64_t previous = 0;
  for (const Timing& t : timings) writer.varint(zigzag(t.query - previous)), previous = t.query;
  previous = 0;
  for (const Timing& t : timings) writer.varint(zigzag(bits(t.scheduled) - previous)), previous = bits(t.scheduled);
  for (const Timing& t : timings) writer.varint(zigzag(bits(t.begin) - bits(t.scheduled)));
  for (const Timing& t : timings) writer.varint(zigzag(bits(t.end) - bits(t.begin)));
  previous = 0;
  for (const Timing& t : timings) writer.varint(zigzag(t.samples - previous)), previous = t.samples;
  for (const Timing& t : timings) writer.byte(static_cast<uint8_t>(t.status));
  return seal_block(timings_tag, timings.size(), writer.bytes());
}

std::vector<Timing> decode_timings(std::string_view block) {
  const OpenedBlock opened = open_block(timings_tag, "timings", block, most_timings, bytes_a_timing);
  ByteReader reader(opened.payload, "timings");
  if (opened.count > reader.left()) reader.fail("it has fewer timings than it claims");
  std::vector<Timing> timings(opened.count);
  uint64_t current = 0;
  for (Timing& t : timings) t.query = current += unzigzag(reader.varint());
  current = 0;
  for (Timing& t : timings) t.scheduled = ns(current += unzigzag(reader.varint()));
  for (Timing& t : timings) t.begin = ns(bits(t.scheduled) + unzigzag(reader.varint()));
  for (Timing& t : timings) t.end = ns(bits(t.begin) + unzigzag(reader.varint()));
  current = 0;
  for (Timing& t : timings) {
    current += unzigzag(reader.varint());
    if (current > std::numeric_limits<uint32_t>::max()) reader.fail("a number of samples is too large");
    t.samples = static_cast<uint32_t>(current);
  }
  for (Timing& t : timings) {
    const uint8_t status = reader.byte();
    if (status > static_cast<uint8_t>(Status::cancelled)) reader.fail("unknown status of a query");
    t.status = static_cast<Status>(status);
  }
  reader.expect_end();
  return timings;
}

std::string encode_series(std::span<const Series> series) {
  ByteWriter writer;
  for (const Series& one : series) {
    writer.text(one.probe);
    writer.text(one.name);
    writer.text(one.unit);
    writer.byte(one.counter ? 1 : 0);
    writer.varint(one.times.size());
    uint64_t previous = 0;
    for (const Nanoseconds time : one.times) {
      writer.varint(zigzag(bits(time) - previous));
      previous = bits(time);
    }
    writer.varint(one.values.size());
    write_values(writer, one.values);
  }
  return seal_block(series_tag, series.size(), writer.bytes());
}

std::vector<Series> decode_series(std::string_view block) {
  const OpenedBlock opened = open_block(series_tag, "series", block, most_series, bytes_a_series);
  ByteReader reader(opened.payload, "series");
  if (opened.count > reader.left()) reader.fail("it has fewer series than it claims");
  std::vector<Series> series;
  series.reserve(opened.count);
  for (uint64_t i = 0; i < opened.count; ++i) series.push_back(read_one_series(reader));
  reader.expect_end();
  return series;
}

int64_t timing_count(std::string_view block) {
  const uint64_t count = block_count(timings_tag, "timings", block);
  return static_cast<int64_t>(count);
}

}  // namespace deepgap
