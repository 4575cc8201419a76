// Any text is a config file with options of every kind, or it is refused with a ConfigError.
#include <string>
#include <vector>

#include "app/config_file.hpp"
#include "app/options/choices.hpp"
#include "app/options/values.hpp"
#include "fuzz/target.hpp"
#include "scratch_folder.hpp"

namespace {

using namespace trireme::app;

const trireme::validation::ScratchFolder folder;

struct Fields {
    std::uint64_t batch = 8;
    double rate = 6e-4;
    std::uint64_t bytes = 20000;
    double seconds = 60;
    std::string folder;
    bool is_quiet = false;
    bool is_tied = true;
    int device = 0;
    std::vector<std::string> slow;
};

std::vector<OptionGroup> options_of(Fields& fields) {
    Option slow{.description = {"slow", "RANK", "a slow rank"},
                .set = [&](const Setting& setting) { fields.slow = {setting.value}; },
                .get = [] { return std::string(); },
                .add = [&](const Setting& setting) { fields.slow.push_back(setting.value); }};
    return {{"run",
             {make_integer_option({"batch", "", "samples per step"}, fields.batch, 1),
              make_text_option({"run-dir", "", "a folder"}, fields.folder),
              make_duration_option({"time-limit", "", "the longest run"}, fields.seconds),
              make_switch_option({"quiet", "", "say less"}, fields.is_quiet)}},
            {"model",
             {make_number_option({"lr", "", "the learning rate"}, fields.rate, make_range_above(0)),
              make_size_option({"memory-limit", "", "per rank"}, fields.bytes),
              make_on_off_option({"tied", "", "share"}, fields.is_tied),
              make_choice_option({"device", "", "where"}, fields.device, {{"cpu", 0}, {"cuda", 1}})}},
            {"emulation", {slow}}};
}

}  // namespace

void trireme::fuzz::config(std::string_view bytes) {
    const std::string path = folder.write("input.ini", bytes);
    Fields fields;
    const std::vector<OptionGroup> groups = options_of(fields);
    const auto apply = [&] {
        const std::vector<Setting> settings = read_config_file(path, groups);
        for (const Setting& setting : settings) find_option(groups, setting.name)->set(setting);
        return settings;
    };
    read_or_refuse(apply, [&](const std::vector<Setting>&) {
        const std::string text = format_config_file("again", groups);
        const std::string again = folder.write("again.ini", text);
        for (const Setting& setting : read_config_file(again, groups))
            find_option(groups, setting.name)->set(setting);
        require(format_config_file("again", groups) == text, "a config file does not come back from its text");
    });
}
