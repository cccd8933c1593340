// EventStream: server-sent events (WHATWG HTML, "Server-sent events") out of the pieces in which a connection brings them. One thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace deepgap {

class EventStream {
 public:
  // Gets the data of each event; returns false to end.
  using Event = std::function<bool(std::string_view data)>;

  void clear();
  // False: `event` ended it, or something is wrong, which request_error() says.
  bool feed(std::string_view piece, const Event& event);
  // An event that no empty line ended, as some servers leave their last.
  bool finish(const Event& event);
  const std::string& request_error() const { return request_error_; }  // empty: none

 private:
  bool take_line(std::string_view line, const Event& event);
  bool dispatch(const Event& event);

  static constexpr size_t most = 16'000'000;  // bytes of one event
  std::string rest_;                          // rest of a line that has not ended
  std::string data_, id_;
  bool has_data_ = false, after_return_ = false;
  std::string request_error_;
};

}  // namespace deepgap
