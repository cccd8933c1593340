#include "report/page.h"

#include "analysis/words.h"
#include "report/html.h"
#include "report/style.h"

#include <fmt/format.h>

namespace deepgap {
namespace {

std::string header_of(const PageParts& parts) {
  if (!parts.header.empty()) return parts.header;
  return "<header><div class=\"eyebrow\">" + html_escaped(parts.eyebrow) + "</div><h1>" + html_escaped(parts.title) + "</h1>\n" +
         parts.lede + "</header>";
}

}  // namespace

std::string html_page(const PageParts& parts) {
  const bool scripted = !parts.script.empty();
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + html_escaped(parts.title) +
         "</title>\n<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<meta name=\"generator\" "
         "content=\"deepgap\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'" +
         (scripted ? "; script-src 'unsafe-inline'" : "") + "\">\n<style>" + report_style() + std::string(parts.own_style) +
         "</style></head>\n<body>\n" + header_of(parts) + "\n<main>\n" + parts.sections + "</main>\n<footer>Made by deepgap" +
         parts.footer + ".</footer>\n" + (scripted ? "<script>" + std::string(parts.script) + "</script>\n" : "") + "</body></html>\n";
}

std::string left_out_note(size_t count, const std::string& one_is, const std::string& many_are) {
  if (count == 0) return {};
  return fmt::format("<p class=\"aside\">{}, to keep this page small.</p>\n", count_of(static_cast<int64_t>(count), one_is, many_are));
}

}  // namespace deepgap
