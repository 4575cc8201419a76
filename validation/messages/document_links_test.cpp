// Links in the documents lead to files and headings that exist.
#include <cctype>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "messages/documents.hpp"
#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

namespace fs = std::filesystem;

// Returns the text without fenced code blocks, in which brackets are not links.
std::string prose_of(std::istream& document) {
    std::string prose;
    bool is_block = false;
    for (std::string line; std::getline(document, line);) {
        if (line.starts_with("```")) {
            is_block = !is_block;
        } else if (!is_block) {
            prose += line + "\n";
        }
    }
    return prose;
}

std::string without_code(const std::string& prose) {
    return std::regex_replace(prose, std::regex("`[^`\n]*`"), "code");
}

// Returns the targets of links and pictures.
std::vector<std::string> links_in(const std::string& prose) {
    static const std::regex link(R"(\]\(([^()\s]+)\))");
    std::vector<std::string> targets;
    const std::string text = without_code(prose);
    for (std::sregex_iterator at(text.begin(), text.end(), link), end; at != end; ++at)
        targets.push_back((*at)[1].str());
    return targets;
}

// Returns the anchor that GitHub gives a heading: "## Does it work here?" is #does-it-work-here.
std::string anchor_of(const std::string& heading) {
    std::string anchor;
    for (const char c : heading) {
        const auto byte = static_cast<unsigned char>(c);
        if (std::isalnum(byte) != 0 || c == '-' || c == '_' || byte >= 0x80)
            anchor += static_cast<char>(std::tolower(byte));
        else if (c == ' ')
            anchor += '-';
    }
    return anchor;
}

std::set<std::string> anchors_in(const std::string& prose) {
    std::set<std::string> anchors;
    std::istringstream in(prose);
    for (std::string line; std::getline(in, line);) {
        const std::size_t text = line.find_first_not_of('#');
        if (text == 0 || text == std::string::npos || line[text] != ' ') continue;
        const std::string anchor = anchor_of(line.substr(text + 1));
        std::string name = anchor;
        for (int copy = 1; !anchors.insert(name).second; ++copy) name = anchor + "-" + std::to_string(copy);
    }
    return anchors;
}

std::string read_prose(const fs::path& page) {
    std::ifstream in(page);
    return prose_of(in);
}

// Returns the reason why the link from `page` is broken; empty if it is not.
std::string broken_because(const fs::path& page, const std::string& link) {
    if (link.starts_with("https://") || link.starts_with("http://") || link.starts_with("mailto:")) return "";
    const std::size_t sign = link.find('#');
    const std::string file = link.substr(0, sign);
    const fs::path target = file.empty() ? page : page.parent_path() / file;
    if (!fs::exists(target)) return "there is no such file";
    if (sign == std::string::npos) return "";
    if (target.extension() != ".md") return "only pages have headings";
    const bool is_there = anchors_in(read_prose(target)).contains(link.substr(sign + 1));
    return is_there ? "" : "the page has no such heading";
}

TEST(DocumentLinks, LeadToFilesAndHeadingsThatExist) {
    std::size_t links = 0;
    for (const fs::path& page : documents(TRIREME_SOURCE_DIR)) {
        for (const std::string& link : links_in(read_prose(page))) {
            ++links;
            EXPECT_EQ(broken_because(page, link), "") << page << ": " << link;
        }
    }
    EXPECT_GT(links, 100U);
}

TEST(DocumentLinks, AreBrokenIfTheirTargetIsMissing) {
    const fs::path page = fs::path(TRIREME_SOURCE_DIR) / "README.md";

    EXPECT_EQ(broken_because(page, "docs/guide/quickstart.md"), "");
    EXPECT_EQ(broken_because(page, "docs/guide/no-such.md"), "there is no such file");
    EXPECT_EQ(broken_because(page, "docs/guide/quickstart.md#no-such"), "the page has no such heading");
    EXPECT_EQ(links_in("[a](b.md#c), `[d](e.md)` and ![f](g.png)\n"),
              (std::vector<std::string>{"b.md#c", "g.png"}));
    EXPECT_EQ(anchor_of("A slow rank, by the `wall`: 2"), "a-slow-rank-by-the-wall-2");
}

}  // namespace
}  // namespace trireme::messages
