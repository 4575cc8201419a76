// Formats the report of `trireme doctor` as text.
#include <fmt/format.h>

#include <algorithm>

#include "tools/doctor/findings.hpp"
#include "tools/printed_text.hpp"

namespace trireme::tools::doctor {
namespace {

constexpr std::size_t max_line_bytes = 2000;  // a longer text or advice is cut

std::string format_lines(const Finding& finding) {
    std::string lines = fmt::format("  {:<8}{:<14}{}\n", to_string(finding.status), finding.name,
                                    sanitise_line(finding.text, max_line_bytes));
    if (!finding.advice.empty())
        lines += fmt::format("  {:<22}-> {}\n", "", sanitise_line(finding.advice, max_line_bytes));
    return lines;
}

std::string describe_verdict(const std::vector<Finding>& findings) {
    if (is_everything_working(findings)) return "everything that training needs works here\n";
    std::string names;
    for (const Finding& finding : findings)
        if (finding.status == Status::fails) names += (names.empty() ? "" : ", ") + finding.name;
    return "no run can work until this is repaired: " + names + "\n";
}

}  // namespace

std::string to_string(const std::vector<Finding>& findings) {
    std::string text = "trireme doctor: what works here\n";
    for (const Finding& finding : findings) text += format_lines(finding);
    return text + describe_verdict(findings);
}

}  // namespace trireme::tools::doctor
