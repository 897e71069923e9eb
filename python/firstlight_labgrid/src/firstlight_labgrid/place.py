"""A labgrid place: acquired once, its power driver kept active, released at the end."""

import argparse
import getpass
import os

# Places of this user are firstlight's own: one that an earlier process left acquired is
# taken over. Two runs at once are kept apart by firstlight's lock.
USER = f"{os.environ.get('LG_USERNAME') or getpass.getuser()}-firstlight"

# Drivers of resources that switch power, as labgrid-client chooses them.
DRIVERS = {
    "NetworkPowerPort": "NetworkPowerDriver",
    "NetworkUSBPowerPort": "USBPowerDriver",
    "NetworkSiSPMPowerPort": "SiSPMPowerDriver",
    "PDUDaemonPort": "PDUDaemonDriver",
    "TasmotaPowerPort": "TasmotaPowerDriver",
    "NetworkYKUSHPowerPort": "YKUSHPowerDriver",
}


class Place:
    """A place that may be acquired."""

    def __init__(self):
        self.session = None
        self.name = None
        self.target = None
        self.driver = None

    def _do(self, coroutine):
        return self.session.loop.run_until_complete(coroutine)

    def acquire(self, name, coordinator):
        """Acquires the place `name`. Returns who has it and where: `labgrid-client` with the same
        user and coordinator may use the place, too."""
        os.environ["LG_USERNAME"] = USER
        from labgrid.remote.client import start_session

        address = coordinator or os.environ.get("LG_COORDINATOR", "127.0.0.1:20408")
        # labgrid's own sub-commands read their arguments here.
        args = argparse.Namespace(
            place=name, allow_unmatched=False, kick=False, state=None, initial_state=None
        )
        self.session = start_session(address, extra={"args": args})
        place = self.session.get_place(name)
        if place.acquired == f"{self.session.gethostname()}/{self.session.getuser()}":
            self._do(self.session.release())
        self._do(self.session.acquire())
        self.name = name
        self.target = self.session._get_target(self.session.get_place(name))
        return {"coordinator": address, "user": USER}

    def _acquired(self):
        if self.target is None:
            raise RuntimeError("no place is acquired")
        return self.target

    def _power(self):
        """The place's power driver, made once."""
        if self.driver is None:
            target = self._acquired()
            for resource in target.resources:
                driver = DRIVERS.get(type(resource).__name__)
                if driver:
                    self.driver = self.session._get_driver_or_new(target, driver)
                    break
            else:
                raise RuntimeError("the place has no resource that switches power")
        return self.driver

    def power(self, on):
        """Switches the power."""
        driver = self._power()
        if on:
            driver.on()
        else:
            driver.off()

    def console(self):
        """Where the console is, for firstlight to listen to."""
        from labgrid.util.proxy import proxymanager

        for resource in self._acquired().resources:
            if type(resource).__name__ == "NetworkSerialPort":
                host, port = proxymanager.get_host_and_port(resource)
                if getattr(resource, "protocol", "rfc2217") == "raw":
                    return f"tcp:{host}:{port}"
                return f"rfc2217://{host}:{port}"
        raise RuntimeError("the place has no NetworkSerialPort")

    def release(self):
        """Releases the place, if it is acquired."""
        if self.session is None:
            return
        try:
            if self.name is not None:
                self._do(self.session.release())
        finally:
            self.name = self.target = self.driver = None
            self._do(self.session.stop())
            self._do(self.session.close())
