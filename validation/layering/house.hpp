// The rooms (modules) and vendors (libraries) that doors.txt and vendors.txt list.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace trireme::layering {

// A module: a folder of src/ and of include/trireme/, or a folder of such a module with a line of its own.
struct Room {
    std::string name;
    bool pure = false;
    std::set<std::string> uses;  // names of the rooms that it may include
};

struct Vendor {
    std::string pattern;              // matches header names; may hold *
    std::vector<std::string> places;  // folders that may include it, such as src/comm/mpi
};

class House {
public:
    // Throws std::runtime_error with file and line if a line cannot be read, a room is named twice, or a room
    // uses one that is not listed above it.
    House(const std::filesystem::path& doors, const std::filesystem::path& vendors);

    const Room* room(const std::string& name) const;  // null if there is none
    // Returns the folders of a room that have lines of their own, such as "schedule/check".
    std::vector<std::string> folders_of(const std::string& room) const;
    const Vendor* find_vendor(const std::string& header) const;  // the first that matches; null if none does
    const std::vector<Room>& rooms() const { return rooms_; }

private:
    void add_room(const std::string& name, const std::vector<std::string>& uses, const std::string& place);

    std::vector<Room> rooms_;
    std::vector<Vendor> vendors_;
};

}  // namespace trireme::layering
