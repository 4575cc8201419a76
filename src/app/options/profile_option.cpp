#include <limits>

#include "app/options/options.hpp"
#include "app/options/values.hpp"
#include "trireme/base/error.hpp"

namespace trireme::app {
namespace {

int parse_rank(const Setting& setting, const std::string& text) {
    return static_cast<int>(parse_integer({cat(setting.name, " rank"), text, setting.source}, 0,
                                          std::numeric_limits<int>::max() - 1));
}

config::RankSpan parse_span(const Setting& setting, const std::string& text) {
    const std::size_t dash = text.find('-');
    const int first = parse_rank(setting, text.substr(0, dash));
    const config::RankSpan span{first,
                                dash == std::string::npos ? first : parse_rank(setting, text.substr(dash + 1))};
    if (span.last < span.first) refuse(setting, "ranks from the lower to the higher, such as 0-3=fast.json");
    return span;
}

// Returns true if `text`, which precedes a '=', has the form of ranks. Otherwise the text belongs to the file
// name.
bool are_ranks(const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789-") == std::string::npos;
}

config::ProfileFile parse_file(const Setting& setting, const std::string& text) {
    const std::size_t equals_sign = text.find('=');
    const bool has_ranks = equals_sign != std::string::npos && are_ranks(text.substr(0, equals_sign));
    config::ProfileFile file{.path = has_ranks ? text.substr(equals_sign + 1) : text};
    if (has_ranks) file.ranks = parse_span(setting, text.substr(0, equals_sign));
    if (file.path.empty()) refuse(setting, "files such as fast.json,slow.json, or 0-3=fast.json,4-7=slow.json");
    return file;
}

}  // namespace

Option make_profile_option(std::vector<config::ProfileFile>& files) {
    return {
        .description =
            {"profile", "FILE.json[,...]",
             "costs measured by `trireme profile`, for planning and for the kernels of simulated runs; with "
             "several files, each rank uses the file measured on its kind of device, or the file assigned to "
             "its rank number: 0-3=fast.json,4-7=slow.json"},
        .set =
            [&files](const Setting& setting) {
                files.clear();
                if (setting.value.empty()) return;
                for (const std::string& file_text : split_text(setting.value, ','))
                    files.push_back(parse_file(setting, file_text));
            },
        .get =
            [&files] {
                std::string text;
                for (const config::ProfileFile& file : files)
                    text += (text.empty() ? "" : ",") + to_string(file);
                return text;
            }};
}

}  // namespace trireme::app
