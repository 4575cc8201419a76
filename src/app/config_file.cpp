#include "app/config_file.hpp"

#include <map>
#include <sstream>
#include <string_view>

#include "app/options/values.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/message_text.hpp"
#include "trireme/base/regular_file.hpp"

namespace trireme::app {
namespace {

constexpr const char* blanks = " \t\r";

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

// Removes a comment. '#' and ';' begin one at the start of
// a line, '#' also after a blank. "runs/#3" is a value.
std::string_view without_comment(std::string_view line) {
    if (!line.empty() && (line.front() == '#' || line.front() == ';')) return {};
    for (std::size_t i = 1; i < line.size(); ++i) {
        if (line[i] == '#' && (line[i - 1] == ' ' || line[i - 1] == '\t')) return trimmed(line.substr(0, i));
    }
    return line;
}

// Removes quotes and comments from a value. Quotes protect blanks and '#'; the last quote ends the value.
std::string value_of(std::string_view text) {
    if (!text.empty() && text.front() == '"') {
        const std::size_t end = text.rfind('"');
        const bool is_quoted = end > 0 && without_comment(trimmed(text.substr(end + 1))).empty();
        if (is_quoted) return std::string(text.substr(1, end - 1));
    }
    return std::string(without_comment(text));
}

std::string with_quotes(const std::string& value) {
    const bool has_mark = value.find_first_of("#;\"") != std::string::npos;
    const bool has_edges = trimmed(value).size() != value.size();
    return has_mark || has_edges ? cat('"', value, '"') : value;
}

class Reader {
public:
    Reader(std::string file, const std::vector<OptionGroup>& groups)
        : file_(std::move(file)), groups_(groups) {}

    void take(std::string_view raw) {
        ++number_;
        const std::string_view line = trimmed(raw);
        if (without_comment(line).empty()) return;
        if (line.front() == '[') {
            open_section(without_comment(line));
        } else {
            add_setting(line);
        }
    }

    std::vector<Setting> settings() && { return std::move(settings_); }

private:
    std::string place() const { return cat(printable(file_), ", line ", number_); }

    void open_section(std::string_view line) {
        section_ = std::string(trimmed(line.substr(1, line.size() - 2)));
        std::vector<std::string> known;
        for (const OptionGroup& group : groups_) known.push_back(group.name);
        for (const std::string& name : known) {
            if (line.back() == ']' && name == section_) return;
        }
        throw ConfigError(cat(place(), ": unknown section ", printable(line), did_you_mean(section_, known)));
    }

    void add_setting(std::string_view line) {
        const std::size_t sign = line.find('=');
        if (sign == std::string_view::npos) {
            throw ConfigError(cat(place(), ": ", in_quotes(line), " is no setting; write name = value"));
        }
        Setting setting{std::string(trimmed(line.substr(0, sign))), value_of(trimmed(line.substr(sign + 1))),
                        place()};
        check_name(setting);
        const auto [first, is_new] = lines_.emplace(setting.name, number_);
        if (!is_new && !find(groups_, setting.name)->add) {
            throw ConfigError(cat(label(setting), " is already given in line ", first->second, "; keep one"));
        }
        settings_.push_back(std::move(setting));
    }

    void check_name(const Setting& setting) const {
        if (find(groups_, setting.name) == nullptr) {
            throw ConfigError(cat(place(), ": unknown option ", printable(setting.name),
                                  did_you_mean(setting.name, names(groups_))));
        }
        for (const OptionGroup& group : groups_) {
            const bool is_there = find({group}, setting.name) != nullptr;
            if (is_there && !section_.empty() && group.name != section_) {
                throw ConfigError(
                    cat(label(setting), " belongs to [", group.name, "], not to [", section_, "]"));
            }
        }
    }

    std::string file_;
    const std::vector<OptionGroup>& groups_;
    std::string section_;                       // empty before the first section
    std::size_t number_ = 0;                    // of the current line
    std::map<std::string, std::size_t> lines_;  // per option: the line that first sets it
    std::vector<Setting> settings_;
};

std::string entry(const Option& option) {
    const std::string value = option.get();
    const std::string comment = cat("# ", option.words.meaning, " (", option.words.form, ")\n");
    if (value.empty()) return cat(comment, "# ", option.words.name, " =\n");
    return cat(comment, option.words.name, " = ", with_quotes(value), "\n");
}

}  // namespace

std::vector<Setting> read_config_file(const std::filesystem::path& path,
                                      const std::vector<OptionGroup>& groups) {
    std::istringstream in(read_regular_file(path, "--config"));
    in.exceptions(std::ios::badbit);  // lack of memory must not look like the end of the file
    Reader reader(path.string(), groups);
    for (std::string line; std::getline(in, line);) reader.take(line);
    return std::move(reader).settings();
}

std::string config_text(const std::string& title, const std::vector<OptionGroup>& groups) {
    std::string text = cat("# ", title, "\n");
    for (const OptionGroup& group : groups) {
        text += cat("\n[", group.name, "]\n");
        for (const Option& option : group.options) text += entry(option);
    }
    return text;
}

OptionGroup config_file_option(std::string& file) {
    Option config =
        text({"config", "FILE.ini",
              "file of options; repeatable; later files win over earlier ones, and the command line "
              "over all"},
             file);
    config.add = config.set;
    return {"config", {config}};
}

OptionGroup config_options(std::string& file, bool& dump) {
    OptionGroup group = config_file_option(file);
    group.options.push_back(flag({"dump-config", "", "print all options as a config file, and exit"}, dump));
    return group;
}

}  // namespace trireme::app
