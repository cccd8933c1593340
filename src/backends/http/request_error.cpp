#include "backends/http/request_error.h"

#include "backends/http/redaction.h"
#include "base/words.h"

namespace deepgap {

std::string short_words(std::string_view text, std::string_view token) {
  constexpr size_t looked_at = 65536, most = 160;
  return one_line(without_token(text.substr(0, looked_at), token), most);  // cut afterwards, so that no part of the token stays
}

}  // namespace deepgap
