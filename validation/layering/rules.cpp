#include "layering/rules.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "layering/source_text.hpp"

namespace trireme::layering {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t source_limit = 400;  // lines; STYLE.md, section 3
constexpr std::size_t header_limit = 150;
constexpr std::size_t folder_limit = 50;   // sources in one folder
constexpr std::size_t include_limit = 20;  // headers that one file includes
constexpr std::array impure{"fstream", "iostream", "cstdio", "filesystem", "chrono", "ctime",
                            "thread",  "mutex",    "atomic", "future",     "random", "condition_variable"};
constexpr std::array nameless{"util", "utils", "helper", "helpers", "common", "misc"};

template <class List>
bool contains(const List& list, const std::string& word) {
    return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

bool starts_with(const std::string& text, const std::string& start) { return text.rfind(start, 0) == 0; }

// Joins `words` for a message.
template <class Words>
std::string joined(const Words& words) {
    std::string all;
    for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
    return all.empty() ? "nothing" : all;
}

struct File {
    fs::path path;  // relative to the root: src/data/corpus.cpp
    std::string text;
    bool is_public() const { return *path.begin() == "include"; }
    bool is_header() const { return path.extension() == ".hpp" || path.extension() == ".cuh"; }

    // Returns "data" for src/data/corpus.cpp and include/trireme/data/corpus.hpp; empty if there is no folder.
    std::string room() const {
        const std::ptrdiff_t depth = is_public() ? 2 : 1;
        return std::distance(path.begin(), path.end()) > depth + 1 ? std::next(path.begin(), depth)->string()
                                                                   : "";
    }
};

class Inspection {
public:
    Inspection(const House& house, fs::path root) : house_(house), root_(std::move(root)) {}

    std::vector<std::string> all() && {
        for (const File& file : files({"include", "src"})) inspect_code(file);
        for (const File& file : files({"include", "src", "validation", "perf"})) inspect_shape(file);
        inspect_folders();
        inspect_classes();
        return std::move(found_);
    }

private:
    std::vector<File> files(std::initializer_list<const char*> folders) const;
    void say(const File& file, std::size_t line, const std::string& what) {
        found_.push_back(file.path.generic_string() + ":" + std::to_string(line) + ": " + what);
    }
    void inspect_shape(const File& file);
    void inspect_folders();
    void inspect_classes();
    void inspect_code(const File& file);
    std::string folder_of(const fs::path& file) const;
    void inspect_folder_door(const File& file, const Include& include, const fs::path& target);
    void inspect_namespace(const File& file);
    void inspect_words(const File& file);
    void inspect_include(const File& file, const Room& room, const Include& include);
    void inspect_door(const File& file, const Room& room, const Include& include);
    bool inspect_private(const File& file, const Room& room, const Include& include);
    void inspect_vendor(const File& file, const Vendor& vendor, const Include& include);
    void inspect_foreign(const File& file, const Room& room, const Include& include);

    const House& house_;
    fs::path root_;
    std::vector<std::string> found_;
};

std::vector<File> Inspection::files(std::initializer_list<const char*> folders) const {
    constexpr std::array endings{".hpp", ".cpp", ".h", ".c", ".cc", ".cu", ".cuh", ".inl"};
    std::vector<File> all;
    for (const char* folder : folders) {
        if (!fs::is_directory(root_ / folder)) continue;
        for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root_ / folder)) {
            if (!entry.is_regular_file() || !contains(endings, entry.path().extension().string())) continue;
            std::ifstream in(entry.path(), std::ios::binary);
            all.push_back({entry.path().lexically_relative(root_), {std::istreambuf_iterator<char>(in), {}}});
        }
    }
    std::sort(all.begin(), all.end(), [](const File& a, const File& b) { return a.path < b.path; });
    return all;
}

void Inspection::inspect_shape(const File& file) {
    const std::size_t count = lines(file.text).size();
    const std::size_t limit = file.is_header() ? header_limit : source_limit;
    if (count > limit) {
        say(file, limit + 1,
            std::to_string(count) + " lines, the limit is " + std::to_string(limit) +
                "; split it along a noun or a phase");
    }
    for (const fs::path& part : file.path) {
        if (contains(nameless, part.stem().string())) {
            say(file, 1, "'" + part.stem().string() + "' says nothing; name it after its one concept");
        }
    }
}

void Inspection::inspect_folders() {
    std::map<fs::path, std::size_t> counts;
    for (const File& file : files({"include", "src"})) ++counts[file.path.parent_path()];
    for (const auto& [folder, count] : counts) {
        if (count <= folder_limit) continue;
        found_.push_back(folder.generic_string() + ":1: " + std::to_string(count) + " sources, the limit is " +
                         std::to_string(folder_limit) + "; divide it into folders");
    }
}

// A class is defined in one source, except in sources that replace each other on a platform.
void Inspection::inspect_classes() {
    const std::regex platform(R"(/(cuda|simulated|wall)/|/(no_gpu|no_nccl|onednn_|blas_)[^/]*$)");
    const std::regex definition(R"(^[^\s/#=;(][^\n=;(]*?\b([A-Z]\w+)::(~?\w+|operator[^\s\w]+)\()",
                                std::regex::multiline);
    std::map<std::string, std::string> sources;  // first source of each class of a room
    for (const File& file : files({"src"})) {
        if (file.is_header() || std::regex_search(file.path.generic_string(), platform)) continue;
        std::set<std::string> classes;
        const std::string code = blank_comments_and_literals(file.text);
        for (std::sregex_iterator match(code.begin(), code.end(), definition), end; match != end; ++match)
            classes.insert(file.room() + "::" + (*match)[1].str());
        for (const std::string& name : classes) {
            const auto [known, is_new] = sources.try_emplace(name, file.path.generic_string());
            if (!is_new)
                say(file, 1, "defines a part of " + name + ", as " + known->second + " does; join them");
        }
    }
}

// Returns "schedule/check" for a source there and for a public header whose source is there. Empty if the
// room's folders have no lines in doors.txt.
std::string Inspection::folder_of(const fs::path& file) const {
    const std::string room = File{file, {}}.room();
    for (const std::string& folder : house_.folders_of(room)) {
        const fs::path source = fs::path("src") / folder / file.filename().replace_extension(".cpp");
        const bool is_public = *file.begin() == "include";
        if (is_public ? fs::exists(root_ / source) : starts_with(file.generic_string(), "src/" + folder + "/"))
            return folder;
    }
    return "";
}

void Inspection::inspect_folder_door(const File& file, const Include& include, const fs::path& target) {
    const std::string from = folder_of(file.path);
    const std::string to = folder_of(target);
    if (from.empty() || to.empty() || from == to || house_.room(from)->uses.count(to) > 0) return;
    say(file, include.line, from + " has no door to " + to + "; it may use " + joined(house_.room(from)->uses));
}

// The declarations of a file are in the namespace of its room. Those of base are in the project's namespace.
// Those of a file that replaces a room's functions, such as comm/mpi/simulated/device.cpp, are in the namespace
// of that room.
void Inspection::inspect_namespace(const File& file) {
    const std::string own = file.room() == "base" ? "trireme" : "trireme::" + file.room();
    const std::string code = blank_comments_and_literals(file.text);
    const std::regex opening(R"(\bnamespace (trireme[\w:]*) \{)");
    std::string last;
    for (std::sregex_iterator match(code.begin(), code.end(), opening), end; match != end; ++match)
        last = (*match)[1];
    const bool is_own = last.empty() || last == own || starts_with(last, own + "::") ||
                        last == "trireme::" + file.path.stem().string();
    if (!is_own) say(file, 1, "declares in namespace " + last + "; its room's is " + own);
}

void Inspection::inspect_code(const File& file) {
    inspect_words(file);
    inspect_namespace(file);
    const Room* room = house_.room(file.room());
    if (room == nullptr) {
        say(file, 1, "lies in no room of doors.txt; move it into one, or add the room there and to DESIGN.md");
        return;
    }
    const std::vector<Include> all = includes(file.text);
    if (all.size() > include_limit) {
        say(file, all[include_limit].line,
            std::to_string(all.size()) + " includes, the limit is " + std::to_string(include_limit) +
                "; divide its work");
    }
    for (const Include& include : all) inspect_include(file, *room, include);
}

void Inspection::inspect_words(const File& file) {
    const std::regex environment(R"(\b(secure_getenv|getenv|setenv|unsetenv|putenv|environ)\b)");
    const std::regex mpi_sum(R"(\bMPI_SUM\b)");
    const std::vector<std::string> code = lines(blank_comments_and_literals(file.text));
    for (std::size_t i = 0; i < code.size(); ++i) {
        std::smatch word;
        if (file.path != "src/app/environment.cpp" && std::regex_search(code[i], word, environment)) {
            say(file, i + 1,
                word.str() + ": the environment is read in src/app/environment.cpp; pass the value");
        }
        if (std::regex_search(code[i], mpi_sum)) {
            say(file, i + 1, "MPI_SUM: its bits differ between MPI libraries; use the fixed-order sum of comm");
        }
    }
}

void Inspection::inspect_include(const File& file, const Room& room, const Include& include) {
    const fs::path header = include.header;
    if (include.header.empty()) {
        say(file, include.line, "an include without a name cannot be checked; name the header");
    } else if (header.is_absolute() || std::find(header.begin(), header.end(), "..") != header.end()) {
        say(file, include.line,
            "\"" + include.header + "\" climbs out of its folder; name a header from its room");
    } else if (starts_with(include.header, "trireme/")) {
        inspect_door(file, room, include);
    } else if (!inspect_private(file, room, include)) {
        inspect_foreign(file, room, include);
    }
}

void Inspection::inspect_door(const File& file, const Room& room, const Include& include) {
    const std::string used = std::next(fs::path(include.header).begin())->string();
    if (house_.room(used) == nullptr) {
        say(file, include.line, "\"" + include.header + "\": doors.txt has no room " + used);
    } else if (used != room.name && room.uses.count(used) == 0) {
        say(file, include.line,
            room.name + " has no door to " + used + "; it may use " + joined(room.uses) +
                " (a new door is a change of DESIGN.md and doors.txt)");
    } else if (used == room.name) {
        inspect_folder_door(file, include, fs::path("include") / include.header);
    }
}

// Returns false unless the include is a private header, which lies beside the including file or below src/.
bool Inspection::inspect_private(const File& file, const Room& room, const Include& include) {
    const fs::path beside = file.path.parent_path() / include.header;
    const bool is_beside = include.quoted && fs::exists(root_ / beside);
    const fs::path target = is_beside ? beside : fs::path("src") / include.header;
    if (!fs::exists(root_ / target) || fs::is_directory(root_ / target)) return false;
    const std::string owner = File{target, {}}.room();
    if (owner != room.name) {
        say(file, include.line,
            "\"" + include.header + "\" is private to " + owner +
                "; what another room needs goes to include/trireme/" + owner);
    } else if (file.is_public() && !is_beside) {
        say(file, include.line, "\"" + include.header + "\" is private; a public header cannot need it");
    } else {
        inspect_folder_door(file, include, target);
    }
    return true;
}

void Inspection::inspect_vendor(const File& file, const Vendor& vendor, const Include& include) {
    const std::string folder = file.path.parent_path().generic_string() + "/";
    const bool allowed = std::any_of(vendor.places.begin(), vendor.places.end(), [&](const std::string& place) {
        return starts_with(folder, place + "/");
    });
    if (!allowed) {
        say(file, include.line,
            "<" + include.header + "> may be included in " + joined(vendor.places) + " only (vendors.txt)");
    }
}

void Inspection::inspect_foreign(const File& file, const Room& room, const Include& include) {
    if (const Vendor* vendor = house_.find_vendor(include.header)) {
        inspect_vendor(file, *vendor, include);
    } else if (include.quoted) {
        say(file, include.line,
            "\"" + include.header + "\" is neither beside this file nor in include/ or src/");
    } else if (file.is_public() && include.header.find_first_of("./") != std::string::npos) {
        say(file, include.line, "<" + include.header + "> is not the C++ standard library's; hide it in src/");
    }
    if (room.pure && contains(impure, include.header)) {
        say(file, include.line,
            "<" + include.header + "> in the pure room " + room.name + "; pass in what it would find out");
    }
}

}  // namespace

std::vector<std::string> violations(const House& house, const fs::path& root) {
    return Inspection(house, root).all();
}

}  // namespace trireme::layering
