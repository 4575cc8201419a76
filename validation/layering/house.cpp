#include "layering/house.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace trireme::layering {
namespace {

// A line "name: word word ..." of doors.txt or vendors.txt.
struct Entry {
    std::string name;
    std::vector<std::string> words;
    std::string place;  // file:line
};

Entry entry_of(const std::string& line, const std::string& place) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) throw std::runtime_error(place + ": a line is 'name: word word ...'");
    std::istringstream rest(line.substr(colon + 1));
    Entry entry{line.substr(0, colon), {}, place};
    for (std::string word; rest >> word;) entry.words.push_back(word);
    return entry;
}

std::vector<Entry> entries(const std::filesystem::path& file) {
    std::ifstream in(file);
    if (!in) throw std::runtime_error(file.string() + ": cannot be read");
    std::vector<Entry> all;
    std::size_t number = 0;
    for (std::string line; std::getline(in, line);) {
        ++number;
        if (line.empty() || line.front() == '#') continue;
        all.push_back(entry_of(line, file.string() + ":" + std::to_string(number)));
    }
    return all;
}

}  // namespace

House::House(const std::filesystem::path& doors, const std::filesystem::path& vendors) {
    for (const Entry& entry : entries(doors)) add_room(entry.name, entry.words, entry.place);
    for (const Entry& entry : entries(vendors)) vendors_.push_back({entry.name, entry.words});
}

void House::add_room(const std::string& name, const std::vector<std::string>& uses, const std::string& place) {
    const std::string mark = "pure ";
    const bool pure = name.compare(0, mark.size(), mark) == 0;
    Room fresh{pure ? name.substr(mark.size()) : name, pure, {uses.begin(), uses.end()}};
    if (room(fresh.name) != nullptr)
        throw std::runtime_error(place + ": " + fresh.name + " has a line already");
    for (const std::string& used : fresh.uses) {
        if (room(used) == nullptr) {
            throw std::runtime_error(place + ": " + fresh.name + " uses " + used +
                                     ", which is not listed above it");
        }
    }
    rooms_.push_back(std::move(fresh));
}

const Room* House::room(const std::string& name) const {
    const auto found =
        std::find_if(rooms_.begin(), rooms_.end(), [&](const Room& r) { return r.name == name; });
    return found == rooms_.end() ? nullptr : &*found;
}

std::vector<std::string> House::folders_of(const std::string& room) const {
    std::vector<std::string> folders;
    for (const Room& each : rooms_)
        if (each.name.rfind(room + "/", 0) == 0) folders.push_back(each.name);
    return folders;
}

const Vendor* House::find_vendor(const std::string& header) const {
    const auto fits = [&](const Vendor& v) { return fnmatch(v.pattern.c_str(), header.c_str(), 0) == 0; };
    const auto found = std::find_if(vendors_.begin(), vendors_.end(), fits);
    return found == vendors_.end() ? nullptr : &*found;
}

}  // namespace trireme::layering
