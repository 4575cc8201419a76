#include <limits>

#include "app/options/options.hpp"
#include "app/options/values.hpp"
#include "trireme/base/error.hpp"

namespace trireme::app {
namespace {

int read_rank(const Setting& whole, const std::string& text) {
    return static_cast<int>(read_whole_number({cat(whole.name, " ranks"), text, whole.place}, 0,
                                              std::numeric_limits<int>::max() - 1));
}

config::RankSpan read_span(const Setting& whole, const std::string& text) {
    const std::size_t mark = text.find('-');
    const int first = read_rank(whole, text.substr(0, mark));
    const config::RankSpan span{first,
                                mark == std::string::npos ? first : read_rank(whole, text.substr(mark + 1))};
    if (span.last < span.first) refuse(whole, "ranks from the lower to the higher, such as 0-3=fast.json");
    return span;
}

// True if `text`, which precedes a '=', has the form of ranks. Otherwise it is part of the file name.
bool are_ranks(const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789-") == std::string::npos;
}

config::ProfileFile read_file(const Setting& whole, const std::string& text) {
    const std::size_t sign = text.find('=');
    const bool has_ranks = sign != std::string::npos && are_ranks(text.substr(0, sign));
    config::ProfileFile file{.path = has_ranks ? text.substr(sign + 1) : text};
    if (has_ranks) file.ranks = read_span(whole, text.substr(0, sign));
    if (file.path.empty()) refuse(whole, "files such as fast.json,slow.json, or 0-3=fast.json,4-7=slow.json");
    return file;
}

}  // namespace

Option profile_option(std::vector<config::ProfileFile>& files) {
    return {
        .words =
            {"profile", "FILE.json[,...]",
             "costs measured by `trireme profile`, for planning and for the kernels of simulated runs; of "
             "several files, a rank uses the one measured on its kind of device, or the one for its number: "
             "0-3=fast.json,4-7=slow.json"},
        .set =
            [&files](const Setting& setting) {
                files.clear();
                if (setting.value.empty()) return;
                for (const std::string& part : parts_of(setting.value, ','))
                    files.push_back(read_file(setting, part));
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
