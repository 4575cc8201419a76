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

std::string_view trim(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

// Removes a comment, which begins with '#' or ';' at the start of a line, or with '#' after a blank. "runs/#3"
// contains no comment.
std::string_view remove_comment(std::string_view line) {
    if (!line.empty() && (line.front() == '#' || line.front() == ';')) return {};
    for (std::size_t i = 1; i < line.size(); ++i) {
        if (line[i] == '#' && (line[i - 1] == ' ' || line[i - 1] == '\t')) return trim(line.substr(0, i));
    }
    return line;
}

// Removes quotes and comments from a value. Quotes protect blanks and '#'; the last quote ends the value.
std::string parse_value(std::string_view text) {
    if (!text.empty() && text.front() == '"') {
        const std::size_t end = text.rfind('"');
        const bool is_quoted = end > 0 && remove_comment(trim(text.substr(end + 1))).empty();
        if (is_quoted) return std::string(text.substr(1, end - 1));
    }
    return std::string(remove_comment(text));
}

// Adds quotes if parse_value() might not return `value` without them.
std::string add_quotes(const std::string& value) {
    const bool has_mark = value.find_first_of("#;\"") != std::string::npos;
    const bool has_outer_blanks = trim(value).size() != value.size();
    return has_mark || has_outer_blanks ? cat('"', value, '"') : value;
}

// Returns "; did you mean NAME?", or advice if no known name is similar.
std::string suggest_name(const std::string& name, const std::vector<std::string>& known) {
    const std::string suggestion = suggest_word(name, known);
    return suggestion.empty() ? "; trireme train --dump-config lists all sections and options" : suggestion;
}

class ConfigFileReader {
public:
    ConfigFileReader(std::string file, const std::vector<OptionGroup>& groups)
        : file_(std::move(file)), groups_(groups) {}

    void read_line(std::string_view raw_line) {
        ++line_number_;
        const std::string_view line = trim(raw_line);
        if (remove_comment(line).empty()) return;
        if (line.front() == '[') {
            open_section(remove_comment(line));
        } else {
            add_setting(line);
        }
    }

    std::vector<Setting> settings() && { return std::move(settings_); }

private:
    std::string describe_place() const { return cat(make_printable(file_), ", line ", line_number_); }

    void open_section(std::string_view line) {
        section_ = std::string(trim(line.substr(1, line.size() - 2)));
        std::vector<std::string> known;
        for (const OptionGroup& group : groups_) known.push_back(group.name);
        for (const std::string& name : known) {
            if (line.back() == ']' && name == section_) return;
        }
        if (line.back() != ']')
            throw ConfigError(cat(describe_place(), ": the section ", quote_text(line), " has no closing ']'"));
        throw ConfigError(
            cat(describe_place(), ": unknown section ", make_printable(line), suggest_name(section_, known)));
    }

    void add_setting(std::string_view line) {
        const std::size_t equals_sign = line.find('=');
        if (equals_sign == std::string_view::npos) {
            throw ConfigError(cat(describe_place(), ": ", quote_text(line), " has no '='; write name = value"));
        }
        Setting setting{std::string(trim(line.substr(0, equals_sign))),
                        parse_value(trim(line.substr(equals_sign + 1))), describe_place()};
        check_name(setting);
        const auto [first, is_new] = first_lines_.emplace(setting.name, line_number_);
        if (!is_new && !find_option(groups_, setting.name)->add) {
            throw ConfigError(
                cat(describe_setting(setting), " is already given in line ", first->second, "; keep one"));
        }
        settings_.push_back(std::move(setting));
    }

    void check_name(const Setting& setting) const {
        if (find_option(groups_, setting.name) == nullptr) {
            throw ConfigError(cat(describe_place(), ": unknown option ", make_printable(setting.name),
                                  suggest_name(setting.name, list_names(groups_))));
        }
        for (const OptionGroup& group : groups_) {
            const bool has_option = find_option({group}, setting.name) != nullptr;
            if (has_option && !section_.empty() && group.name != section_) {
                throw ConfigError(
                    cat(describe_setting(setting), " belongs to [", group.name, "], not to [", section_, "]"));
            }
        }
    }

    std::string file_;
    const std::vector<OptionGroup>& groups_;
    std::string section_;                             // empty before the first section
    std::size_t line_number_ = 0;                     // number of the current line
    std::map<std::string, std::size_t> first_lines_;  // per option: the number of the line that sets it first
    std::vector<Setting> settings_;
};

// Returns the lines of an option: a comment with its meaning, and its value. If the option has no value, the
// second line is a comment, too.
std::string format_entry(const Option& option) {
    const std::string value = option.get();
    const std::string comment =
        cat("# ", option.description.meaning, " (", option.description.value_format, ")\n");
    if (value.empty()) return cat(comment, "# ", option.description.name, " =\n");
    return cat(comment, option.description.name, " = ", add_quotes(value), "\n");
}

}  // namespace

std::vector<Setting> read_config_file(const std::filesystem::path& path,
                                      const std::vector<OptionGroup>& groups) {
    std::istringstream in(read_regular_file(path, "--config"));
    in.exceptions(std::ios::badbit);  // lack of memory must not look like the end of the file
    ConfigFileReader reader(path.string(), groups);
    for (std::string line; std::getline(in, line);) reader.read_line(line);
    return std::move(reader).settings();
}

std::string format_config_file(const std::string& title, const std::vector<OptionGroup>& groups) {
    std::string text = cat("# ", title, "\n");
    for (const OptionGroup& group : groups) {
        text += cat("\n[", group.name, "]\n");
        for (const Option& option : group.options) text += format_entry(option);
    }
    return text;
}

OptionGroup make_config_file_group(std::string& file) {
    Option config = make_text_option(
        {"config", "FILE.ini",
         "file of options; repeatable; later files win over earlier ones, and the command line "
         "over all"},
        file);
    config.add = config.set;
    return {"config", {config}};
}

OptionGroup make_config_options(std::string& file, bool& dump) {
    OptionGroup group = make_config_file_group(file);
    group.options.push_back(
        make_switch_option({"dump-config", "", "print all options as a config file, and exit"}, dump));
    return group;
}

}  // namespace trireme::app
