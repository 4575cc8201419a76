#include "layering/symbols.hpp"

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace trireme::layering {
namespace {

// Returns a file name as one word of a shell command.
std::string quoted(const std::string& word) {
    std::string all = "'";
    for (const char c : word) all += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return all + "'";
}

std::string output_of(const std::string& command) {
    std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"),
                                               [](FILE* file) { return pclose(file); });
    if (!pipe) throw std::runtime_error("cannot start: " + command);
    std::string all;
    std::array<char, 4096> some{};
    while (const std::size_t count = fread(some.data(), 1, some.size(), pipe.get()))
        all.append(some.data(), count);
    if (pclose(pipe.release()) != 0) throw std::runtime_error("failed: " + command);
    return all;
}

std::string trimmed(const std::string& text) {
    const std::size_t from = text.find_first_not_of(' ');
    return from == std::string::npos ? "" : text.substr(from, text.find_last_not_of(' ') - from + 1);
}

// Returns the fields of a line of `nm --format=sysv`: name|value|class|type|size|line|section; empty for other
// lines. Fields are counted from the end, because demangled names may hold a |, too.
std::vector<std::string> fields(const std::string& line) {
    constexpr std::size_t count = 7;
    std::vector<std::string> all(count);
    std::size_t end = line.size();
    for (std::size_t i = count - 1; i > 0; --i) {
        const std::size_t bar = end == 0 ? std::string::npos : line.rfind('|', end - 1);
        if (bar == std::string::npos) return {};
        all[i] = trimmed(line.substr(bar + 1, end - bar - 1));
        end = bar;
    }
    all[0] = trimmed(line.substr(0, end));
    return all;
}

bool is_writable(const std::string& section) {
    return std::regex_match(section, std::regex(R"(\.(data|bss|tdata|tbss)(\..*)?|\*COM\*)")) &&
           section.compare(0, 12, ".data.rel.ro") != 0;
}

// True for the stream initialiser of <iostream>, the exception handler's reference, static members of other
// libraries' templates, and what nvcc writes around kernels.
bool is_known(const std::string& name) {
    return std::regex_search(
        name, std::regex(R"(^(guard variable for )?((std|__gnu_cxx|boost|fmt|nlohmann)::|__device_stub__))"
                         R"(|^DW\.ref\.|^__cudaFatCubinHandle$)"));
}

}  // namespace

std::vector<Symbol> find_mutable_symbols(const std::string& nm, const std::string& library) {
    std::istringstream table(output_of(quoted(nm) + " -C --format=sysv " + quoted(library)));
    const std::string file = std::filesystem::path(library).filename().string();
    const std::regex heading(R"(.*\[(.*)\]:$)");  // Symbols from libtrireme_data.a[corpus.cpp.o]:
    std::vector<Symbol> found;
    std::string object;
    for (std::string line; std::getline(table, line);) {
        std::smatch part;
        if (std::regex_match(line, part, heading)) object = part[1];
        const std::vector<std::string> field = fields(line);
        if (field.empty() || !is_writable(field[6]) || is_known(field[0])) continue;
        found.push_back({file, object, field[0], field[6]});
    }
    return found;
}

}  // namespace trireme::layering
