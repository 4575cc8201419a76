// A library that is looked for when something needs it: a program starts without it.
#pragma once

#include <string>
#include <vector>

namespace trireme::device {

class SharedLibrary {
public:
    // The first of these names that the system finds. Throws ResourceError, which says `purpose`, if there is
    // none.
    SharedLibrary(const std::vector<std::string>& names, const std::string& purpose);
    ~SharedLibrary();
    SharedLibrary(const SharedLibrary&) = delete;
    SharedLibrary& operator=(const SharedLibrary&) = delete;

    // Sets `function` to the one of that name. Throws ResourceError where the library has none.
    template <class Function>
    void find(const char* name, Function*& function) const {
        function = reinterpret_cast<Function*>(address_of(name));
    }

private:
    void* address_of(const char* name) const;

    void* handle_ = nullptr;
    std::string name_;
};

}  // namespace trireme::device
