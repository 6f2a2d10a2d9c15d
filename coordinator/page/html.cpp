#include "html.hpp"

#include "figure_words.hpp"
#include "flow_graph.hpp"
#include "format.hpp"
#include "report_page.hpp"

namespace sluice::coordinator {

std::string html_table(const HtmlRow& heads, const std::vector<HtmlRow>& rows, std::size_t last_texts) {
  const auto cells = [&](const HtmlRow& row, const std::string& tag) {
    std::string text = "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool is_text = i == 0 || i + last_texts >= row.size();
      const std::string_view meaning = tag == "th" ? meaning_of(row[i]) : std::string_view();
      text += "<" + tag + (is_text ? "" : " class=\"number\"") +
              (meaning.empty() ? "" : " title=\"" + html_text(std::string(meaning)) + "\"") + ">" +
              html_text(row[i]) + "</" + tag + ">";
    }
    return text + "</tr>\n";
  };
  std::string text = "<div class=\"wide\"><table>\n<thead>" + cells(heads, "th") + "</thead>\n<tbody>\n";
  for (const HtmlRow& row : rows) text += cells(row, "td");
  return text + "</tbody></table></div>\n";
}

std::string html_list(const std::vector<std::string>& texts, const std::string& kind) {
  std::string list;
  for (const std::string& text : texts) list += "<li class=\"" + kind + "\">" + html_text(text) + ".</li>\n";
  return list;
}

std::string html_page(const std::string& title, const std::string& body) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
         "content=\"width=device-width\">\n<title>" +
         html_text(title) + "</title>\n<style>" + page_style() + "</style>\n</head>\n<body>\n<h1>" +
         html_text(title) + "</h1>\n" + body + "<script>" + page_script() + "</script>\n</body>\n</html>\n";
}

std::string rate_text(std::uint64_t bytes, std::uint64_t milliseconds) {
  constexpr std::uint64_t ms_in_a_second = 1000;
  return milliseconds == 0 ? "–" : format_bytes(bytes * ms_in_a_second / milliseconds) + "/s";
}

}  // namespace sluice::coordinator
