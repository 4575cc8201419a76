// The report of `trireme doctor` as text.
#include <fmt/format.h>

#include <algorithm>

#include "tools/doctor/findings.hpp"
#include "tools/printed_text.hpp"

namespace trireme::tools::doctor {
namespace {

constexpr std::size_t longest_line = 2000;

std::string lines_of(const Finding& finding) {
    std::string lines = fmt::format("  {:<8}{:<14}{}\n", name_of(finding.status), finding.name,
                                    line_for_terminal(finding.text, longest_line));
    if (!finding.advice.empty())
        lines += fmt::format("  {:<22}-> {}\n", "", line_for_terminal(finding.advice, longest_line));
    return lines;
}

std::string verdict(const std::vector<Finding>& findings) {
    if (do_all_work(findings)) return "everything that training needs works here\n";
    std::string names;
    for (const Finding& finding : findings)
        if (finding.status == Status::fails) names += (names.empty() ? "" : ", ") + finding.name;
    return "what fails, and has to work before a run can: " + names + "\n";
}

}  // namespace

std::string to_string(const std::vector<Finding>& findings) {
    std::string text = "trireme doctor: what works here\n";
    for (const Finding& finding : findings) text += lines_of(finding);
    return text + verdict(findings);
}

}  // namespace trireme::tools::doctor
