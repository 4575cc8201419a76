// The house as doors.txt and vendors.txt draw it.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace trireme::layering {

struct Room {
    std::string name;
    bool pure = false;
    std::set<std::string> uses;  // names of rooms
};

struct Vendor {
    std::string pattern;              // of a header, with *
    std::vector<std::string> places;  // folders that may include it, such as src/comm/mpi
};

class House {
public:
    // Throws std::runtime_error naming file and line where a line cannot be read, a room is named twice, or a
    // room uses one that does not stand above it.
    House(const std::filesystem::path& doors, const std::filesystem::path& vendors);

    const Room* room(const std::string& name) const;  // null where there is none
    // The folders of a room that have lines of their own, such as "schedule/check".
    std::vector<std::string> folders_of(const std::string& room) const;
    const Vendor* vendor_of(const std::string& header) const;  // the first that fits; null where none does
    const std::vector<Room>& rooms() const { return rooms_; }

private:
    void add_room(const std::string& name, const std::vector<std::string>& uses, const std::string& place);

    std::vector<Room> rooms_;
    std::vector<Vendor> vendors_;
};

}  // namespace trireme::layering
