// Text that goes into HTML. Everything that comes from a Store is escaped here on its way out, without exception: names of models and
// reasons of failures are whatever somebody wrote.
#pragma once

#include <string>
#include <string_view>

namespace deepgap {

// Safe between tags and in quoted attributes: & < > " ' are written as entities, control characters as U+FFFD, and those of C1 and what
// turns the direction of writing as spaces.
std::string html_escaped(std::string_view text);
// Escapes for Markdown tables and paragraphs: HTML-escaped, and what Markdown gives a meaning to is taken literally; one line.
std::string markdown_escaped(std::string_view text);
// Escapes for a quoted string of a style sheet within a page, which knows no entities: what could end the string or the sheet is written as
// a number.
std::string css_escaped(std::string_view text);
// Returns at most `most` characters (code points); a mark shows that some are left out.
std::string shortened(std::string_view text, size_t most);

}  // namespace deepgap
