#include "backends/openai/event_stream.h"

#include "base/words.h"

#include <fmt/format.h>

#include <utility>

namespace deepgap {

void EventStream::clear() {
  rest_.clear();
  data_.clear();
  id_.clear();
  request_error_.clear();
  has_data_ = after_return_ = false;
}

// A line ends with \n, \r or \r\n, of which the two may come in different pieces.
bool EventStream::feed(std::string_view piece, const Event& event) {
  while (!piece.empty()) {
    if (after_return_ && piece.front() == '\n') piece.remove_prefix(1);
    after_return_ = false;
    const size_t end = piece.find_first_of("\r\n");
    if (end == std::string_view::npos) break;
    after_return_ = piece[end] == '\r';
    bool goes_on = false;
    if (rest_.empty()) {
      goes_on = take_line(piece.substr(0, end), event);
    } else {
      rest_.append(piece.substr(0, end));
      const std::string line = std::exchange(rest_, {});
      goes_on = take_line(line, event);
    }
    if (!goes_on) return false;
    piece.remove_prefix(end + 1);
  }
  rest_.append(piece);
  if (rest_.size() + data_.size() <= most) return true;
  request_error_ = "an event of the stream is larger than 16 MB";
  return false;
}

bool EventStream::finish(const Event& event) {
  if (!rest_.empty()) {
    const std::string line = std::exchange(rest_, {});
    if (!take_line(line, event)) return false;
  }
  return dispatch(event);
}

bool EventStream::take_line(std::string_view line, const Event& event) {
  if (line.empty()) return dispatch(event);
  const size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "data") {
    if (has_data_) data_ += '\n';
    data_ += value;
    has_data_ = true;
    return true;
  }
  if (field == "id") {
    if (!value.empty() && value == id_) {
      request_error_ = fmt::format("the stream has the event with id {} twice", one_line(value, 40));
      return false;
    }
    id_ = value;
    return true;
  }
  if (field.empty() || field == "event" || field == "retry") return true;  // empty: a comment
  request_error_ = fmt::format("the stream has a line without 'data:': {}", one_line(line, 60));
  return false;
}

bool EventStream::dispatch(const Event& event) {
  if (!has_data_) return true;
  has_data_ = false;
  const std::string data = std::exchange(data_, {});
  return event(data);
}

}  // namespace deepgap
