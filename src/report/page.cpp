#include "report/page.h"

#include "report/html.h"
#include "report/style.h"

namespace deepgap {

std::string html_page(const PageParts& parts) {
  const std::string title = html_escaped(parts.title);
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + title +
         "</title>\n<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<meta name=\"generator\" "
         "content=\"deepgap\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n<style>" +
         report_style() + std::string(parts.own_style) + "</style></head>\n<body>\n<header><div class=\"eyebrow\">" +
         html_escaped(parts.eyebrow) + "</div><h1>" + title + "</h1>\n" + parts.lede + "</header>\n<main>\n" + parts.sections +
         "</main>\n<footer>Made by deepgap" + parts.footer + ".</footer>\n</body></html>\n";
}

}  // namespace deepgap
